package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// whole is a file with what a control plane adds to it: the listeners and backends of the control plane follow those of
// the file. What merges, checks and prints a file does the same for a whole.
type whole struct {
	File
	file    *File
	control *Control // nil: the whole is the file
}

// whole makes the whole of p, or takes the one that was made of the same parts.
func (p *Parts) whole() (*whole, error) {
	if p.made != nil && p.made.file == p.File && p.made.control == p.Control {
		return p.made, nil
	}
	w := &whole{File: *p.File, file: p.File, control: p.Control}
	if p.made != nil && p.made.file == p.File {
		if _, only := p.Control.Changed(p.made.control); only { // what was checked is the same
			w = p.made.with(p.Control)
			p.made = w
			return w, nil
		}
	}
	if c := p.Control; c != nil {
		if err := w.add(c); err != nil {
			return nil, err
		}
	}
	p.made = w
	return w, nil
}

// with is the same whole with other servers.
func (w *whole) with(c *Control) *whole {
	next := *w
	next.control = c
	next.Errors, next.Place, next.Origin = next.fault, next.placed, next.origin
	return &next
}

// add adds what the control plane says, and checks it as the file is checked.
func (w *whole) add(c *Control) error {
	cfg := *w.file.Config
	cfg.Listeners = slices.Concat(cfg.Listeners, c.Listeners)
	cfg.Backends = slices.Concat(cfg.Backends, c.Backends)
	w.Config, w.known = &cfg, nil
	if err := w.belong(c); err != nil {
		return err
	}
	w.Clients, w.RouteServers = added(w.Clients, c.Keys), added(w.RouteServers, c.RouteKeys)
	w.Errors, w.Place, w.Origin = w.fault, w.placed, w.origin
	return w.fault(cfg.ValidateAdded(len(w.file.Config.Listeners), len(w.file.Config.Backends)))
}

// added is a copy of of with what is in more.
func added[V any](of, more map[string]V) map[string]V {
	if len(more) == 0 {
		return of
	}
	all := make(map[string]V, len(of)+len(more))
	maps.Copy(all, of)
	maps.Copy(all, more)
	return all
}

var errOfFile = errors.New("the configuration file has one of this name")

// belong checks that names of the file are the file's, and that listeners refer to backends of the control plane.
func (w *whole) belong(c *Control) error {
	own := map[string]bool{}
	for i := range c.Backends {
		own[c.Backends[i].Name] = true
	}
	var errs []error
	for i := range c.Backends {
		if name := c.Backends[i].Name; w.file.has(name) {
			errs = append(errs, &ControlError{Backend: name, Err: errOfFile})
		}
	}
	for i := range c.Listeners {
		l := &c.Listeners[i]
		if slices.ContainsFunc(w.file.Config.Listeners, func(f config.Listener) bool { return f.Name == l.Name }) {
			errs = append(errs, &ControlError{Listener: l.Name, Err: errOfFile})
		}
		for _, name := range referred(l) {
			if !own[name] {
				errs = append(errs, &ControlError{Listener: l.Name, Err: fmt.Errorf("its backend %q does not exist", name)})
				break
			}
		}
	}
	return errors.Join(errs...)
}

// fault makes an error of problems of the whole: a [ControlError] for what the control plane says.
func (w *whole) fault(problems []config.Problem) error {
	var errs []error
	var own []config.Problem
	for _, p := range problems {
		if e := w.blame(p); e != nil {
			errs = append(errs, e)
		} else {
			own = append(own, p)
		}
	}
	if len(own) > 0 {
		errs = append(errs, w.file.Explain(own))
	}
	return errors.Join(errs...)
}

// blame finds the item of the control plane that takes part in a problem; nil: none does.
func (w *whole) blame(p config.Problem) error {
	for _, path := range []string{p.Path, p.Other} {
		l, b := w.item(path)
		if l == nil && b == nil {
			continue
		}
		text := p.String()
		if other := cmp.Or(p.Other, p.Path); p.Other != "" || path != p.Path {
			if path == p.Other {
				other = p.Path
			}
			text += "; see " + w.placed(other)
		} else if _, below, found := strings.Cut(path, "."); found {
			text = below + ": " + text
		}
		e := &ControlError{Err: errors.New(text)}
		if l != nil {
			e.Listener = l.Name
		} else {
			e.Backend = b.Name
		}
		return e
	}
	return nil
}

// item is the listener or the backend of the control plane that a path leads to.
func (w *whole) item(path string) (*config.Listener, *config.Backend) {
	if i := index(path, "listeners["); i >= len(w.file.Config.Listeners) {
		return &w.Config.Listeners[i], nil
	}
	if i := index(path, "backends["); i >= len(w.file.Config.Backends) {
		return nil, &w.Config.Backends[i]
	}
	return nil, nil
}

// index is the index of a path's list, or -1.
func index(path, list string) int {
	rest, found := strings.CutPrefix(path, list)
	number, _, _ := strings.Cut(rest, "]")
	i, err := strconv.Atoi(number)
	if !found || err != nil {
		return -1
	}
	return i
}

// placed is where a setting is, for people.
func (w *whole) placed(path string) string {
	switch l, b := w.item(path); {
	case l != nil:
		return "listener " + l.Name + " of " + w.control.Origin
	case b != nil:
		return "backend " + b.Name + " of " + w.control.Origin
	}
	return w.file.place(path)
}

// origin is where the value of a setting comes from, for people.
func (w *whole) origin(path string) string {
	if l, b := w.item(path); l != nil || b != nil {
		return w.control.Origin
	}
	if w.file.Origin == nil {
		return ""
	}
	return w.file.Origin(path)
}
