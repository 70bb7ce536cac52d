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

// mergedFile is a configuration file plus the listeners and backends of a control plane, which follow those of the
// file. Whatever merges, checks and prints a file works on it as well.
type mergedFile struct {
	File
	file    *File
	control *Control // nil without a control plane
}

// mergeFile merges the file and the control plane of p, unless the last merge was of the same ones.
func (p *Parts) mergeFile() (*mergedFile, error) {
	if p.merged != nil && p.merged.file == p.File && p.merged.control == p.Control {
		return p.merged, nil
	}
	w := &mergedFile{File: *p.File, file: p.File, control: p.Control}
	if p.merged != nil && p.merged.file == p.File {
		if _, only := p.Control.Changed(p.merged.control); only { // what was checked is the same
			w = p.merged.withServers(p.Control)
			p.merged = w
			return w, nil
		}
	}
	if c := p.Control; c != nil {
		if err := w.addControl(c); err != nil {
			return nil, err
		}
	}
	p.merged = w
	return w, nil
}

// withServers returns a copy of w with the servers of c.
func (w *mergedFile) withServers(c *Control) *mergedFile {
	next := *w
	next.control = c
	next.Errors, next.Place, next.Origin = next.errorOf, next.placeOf, next.originOf
	return &next
}

// addControl adds the part of the control plane, and validates it like the file.
func (w *mergedFile) addControl(c *Control) error {
	cfg := *w.file.Config
	cfg.Listeners = slices.Concat(cfg.Listeners, c.Listeners)
	cfg.Backends = slices.Concat(cfg.Backends, c.Backends)
	w.Config, w.sources = &cfg, nil
	if err := w.checkNames(c); err != nil {
		return err
	}
	w.Clients, w.RouteServers = union(w.Clients, c.Keys), union(w.RouteServers, c.RouteKeys)
	w.Errors, w.Place, w.Origin = w.errorOf, w.placeOf, w.originOf
	return w.errorOf(cfg.ValidateAdded(len(w.file.Config.Listeners), len(w.file.Config.Backends)))
}

// union returns a map with the entries of both, which is base itself if more is empty.
func union[V any](base, more map[string]V) map[string]V {
	if len(more) == 0 {
		return base
	}
	all := make(map[string]V, len(base)+len(more))
	maps.Copy(all, base)
	maps.Copy(all, more)
	return all
}

var errNameTaken = errors.New("the configuration file has one of this name")

// checkNames checks that the control plane uses no name of the file, and that its listeners refer to its own backends.
func (w *mergedFile) checkNames(c *Control) error {
	own := map[string]bool{}
	for i := range c.Backends {
		own[c.Backends[i].Name] = true
	}
	var errs []error
	for i := range c.Backends {
		if name := c.Backends[i].Name; w.file.has(name) {
			errs = append(errs, &ControlError{Backend: name, Err: errNameTaken})
		}
	}
	for i := range c.Listeners {
		l := &c.Listeners[i]
		if slices.ContainsFunc(w.file.Config.Listeners, func(f config.Listener) bool { return f.Name == l.Name }) {
			errs = append(errs, &ControlError{Listener: l.Name, Err: errNameTaken})
		}
		for _, name := range backendsOf(l) {
			if !own[name] {
				errs = append(errs, &ControlError{Listener: l.Name, Err: fmt.Errorf("its backend %q does not exist", name)})
				break
			}
		}
	}
	return errors.Join(errs...)
}

// errorOf returns the problems as an error, with a [ControlError] for each that concerns the control plane.
func (w *mergedFile) errorOf(problems []config.Problem) error {
	var errs []error
	var own []config.Problem
	for _, p := range problems {
		if e := w.controlError(p); e != nil {
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

// controlError returns the error of the item of the control plane that takes part in a problem, or nil if none does.
func (w *mergedFile) controlError(p config.Problem) error {
	for _, path := range []string{p.Path, p.Other} {
		l, b := w.controlItem(path)
		if l == nil && b == nil {
			continue
		}
		text := p.String()
		if other := cmp.Or(p.Other, p.Path); p.Other != "" || path != p.Path {
			if path == p.Other {
				other = p.Path
			}
			text += "; see " + w.placeOf(other)
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

// controlItem returns the listener or the backend of the control plane that a path leads to.
func (w *mergedFile) controlItem(path string) (*config.Listener, *config.Backend) {
	if i := listIndex(path, "listeners["); i >= len(w.file.Config.Listeners) {
		return &w.Config.Listeners[i], nil
	}
	if i := listIndex(path, "backends["); i >= len(w.file.Config.Backends) {
		return nil, &w.Config.Backends[i]
	}
	return nil, nil
}

// listIndex returns the index in a path that begins with list, or -1.
func listIndex(path, list string) int {
	rest, found := strings.CutPrefix(path, list)
	number, _, _ := strings.Cut(rest, "]")
	i, err := strconv.Atoi(number)
	if !found || err != nil {
		return -1
	}
	return i
}

// placeOf returns where a setting is written, for people.
func (w *mergedFile) placeOf(path string) string {
	switch l, b := w.controlItem(path); {
	case l != nil:
		return "listener " + l.Name + " of " + w.control.Origin
	case b != nil:
		return "backend " + b.Name + " of " + w.control.Origin
	}
	return w.file.place(path)
}

// originOf returns where the value of a setting comes from, for people.
func (w *mergedFile) originOf(path string) string {
	if l, b := w.controlItem(path); l != nil || b != nil {
		return w.control.Origin
	}
	if w.file.Origin == nil {
		return ""
	}
	return w.file.Origin(path)
}
