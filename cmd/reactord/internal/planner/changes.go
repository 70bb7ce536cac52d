package planner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"go.uber.org/zap"
)

// change is a change of one part.
type change struct {
	edit     func(*plan.Parts) error
	backends []string    // the only ones that it concerns; nil: any
	file     bool        // of the file, for which items of the control plane may be left out
	control  bool        // of the part of the control plane
	done     func(error) // called with the result
}

// takeChanges takes the reports and overrides since the last call, and returns all changes that are complete.
func (p *Planner) takeChanges() []change {
	p.mu.Lock()
	reports, overrides := p.reports, p.overrides
	p.reports, p.overrides = map[plan.Source]report{}, nil
	p.mu.Unlock()
	var all []change
	p.moveEarlyReports(reports)
	if l := p.loading; l != nil && l.complete() {
		all = append(all, p.fileChange(l))
	}
	if c := p.coming; c != nil && c.complete() {
		all = append(all, p.controlChange(c))
	}
	for _, s := range slices.SortedFunc(maps.Keys(reports), plan.CompareSources) {
		if r := reports[s]; r.servers != nil {
			all = append(all, p.discoveredChange(s, r))
		} else {
			p.noteFound(s, false, r.err)
		}
	}
	for _, o := range overrides {
		if c, ok := p.overrideChange(o); ok {
			all = append(all, c)
		}
	}
	if len(all) > 0 {
		for _, s := range slices.SortedFunc(maps.Keys(p.refused), plan.CompareSources) {
			if r := reports[s]; r.servers == nil {
				all = append(all, p.discoveredChange(s, report{p.refused[s], r.err}))
			}
		}
	}
	return all
}

// moveEarlyReports moves the reports of new sources to the parts in progress that wait for them, and drops the reports
// of sources that no longer exist.
func (p *Planner) moveEarlyReports(reports map[plan.Source]report) {
	known, first := p.knownSources(), p.good.File == nil
	for s, r := range reports {
		if known[s] {
			continue
		}
		if l := p.loading; l != nil && l.sources[s] {
			l.answer(s, r, first)
		}
		if c := p.coming; c != nil && c.sources[s] {
			c.answer(s, r, first)
		}
		delete(reports, s)
	}
}

func (p *Planner) fileChange(l *fileLoad) change {
	return change{
		edit: func(parts *plan.Parts) error {
			parts.File = l.file
			l.addEarly(parts)
			return nil
		},
		file: true,
		done: p.finishReload,
	}
}

// controlChange puts a part of the control plane in force.
func (p *Planner) controlChange(c *controlUpdate) change {
	next := c.control.Keep(p.good.Control, func(s plan.Source) bool {
		_, known := p.good.Discovered[s]
		return known || c.early[s].servers != nil
	})
	discovers := len(next.Sources())+len(p.good.Control.Sources()) > 0
	one := change{
		edit: func(parts *plan.Parts) error {
			parts.Control = next
			c.addEarly(parts)
			return nil
		},
		control: true,
		done: func(err error) {
			p.coming = nil
			if err == nil {
				p.finishUpdate(&c.sourceWait)
				p.logPostponed(next)
			}
			if discovers {
				p.updateDiscovery()
			}
			c.done <- err
		},
	}
	if backends, only := next.Changed(p.good.Control); only {
		one.backends = append([]string{}, backends...)
	}
	return one
}

// logPostponed logs which backends wait for the answers of their new names.
func (p *Planner) logPostponed(c *plan.Control) {
	for _, name := range c.Postponed() {
		p.cfg.Log.Warn("no answer from DNS; the backend keeps its servers until there is one", zap.String("backend", name))
	}
}

func (p *Planner) discoveredChange(s plan.Source, r report) change {
	awaited := p.good.Control.Awaits(s)
	one := change{
		backends: []string{s.Backend},
		edit: func(parts *plan.Parts) error {
			if parts.Control.Awaits(s) {
				parts.Control = parts.Control.Advance(s.Backend)
			}
			if parts.Sources()[s] { // else a file in the same plan has removed it
				parts.Discovered[s] = r.servers
			}
			return nil
		},
		done: func(err error) {
			delete(p.refused, s)
			if err != nil {
				p.refused[s] = r.servers
			}
			p.noteFound(s, err == nil, cmp.Or(err, r.err))
			if awaited && err == nil {
				p.notes.keep(p.good.Sources())
				p.updateDiscovery()
			}
		},
	}
	if awaited {
		one.backends = nil // its settings change, too
	}
	return one
}

// noteFound records the result of a source, unless it no longer exists.
func (p *Planner) noteFound(s plan.Source, came bool, err error) {
	if !p.good.Sources()[s] {
		delete(p.refused, s)
		return
	}
	p.notes.find(s, p.Plan().Revision, len(p.good.Discovered[s]), came, err)
}

// overrideChange returns the change of an override. If it names no server, it ends with an error, and ok is false.
func (p *Planner) overrideChange(o override) (c change, ok bool) {
	key, err := p.serverKey(o.backend, o.server)
	if _, overridden := p.good.Overrides[key]; err == nil && !overridden && len(p.good.Overrides) >= maxOverrides {
		err = fmt.Errorf("there are %d overrides already", maxOverrides)
	}
	if err != nil {
		o.done <- err
		return change{}, false
	}
	return change{
		backends: []string{o.backend},
		edit: func(parts *plan.Parts) error {
			switch {
			case !parts.Has(o.backend): // a file in the same plan has removed it
				return fmt.Errorf("backend %q: %w", o.backend, ErrNoServer)
			case o.IsZero():
				delete(parts.Overrides, key)
			default:
				parts.Overrides[key] = o.Override
			}
			return nil
		},
		done: func(err error) {
			if err == nil {
				p.notes.override(p.good.Overrides)
			}
			o.done <- err
		},
	}, true
}

// serverKey finds a server of the plan in force by its name or address, or one with an override by its address.
func (p *Planner) serverKey(backend, server string) (plan.ServerKey, error) {
	in := p.Plan()
	if in == nil {
		return plan.ServerKey{}, ErrNoServer
	}
	b := in.Backend(backend)
	if b == nil {
		return plan.ServerKey{}, fmt.Errorf("backend %q: %w", backend, ErrNoServer)
	}
	if s := b.Server(server); s != nil {
		return plan.ServerKey{Backend: backend, Address: s.Address}, nil
	}
	if at, err := serveraddr.Parse(server); err == nil {
		if key := (plan.ServerKey{Backend: backend, Address: at}); !p.good.Overrides[key].IsZero() {
			return key, nil
		}
	}
	return plan.ServerKey{}, fmt.Errorf("server %q of backend %q: %w", server, backend, ErrNoServer)
}

// finishReload ends the reload in progress, and sends its result to all who wait for it.
func (p *Planner) finishReload(err error) {
	l := p.loading
	p.loading = nil
	if p.Plan() != nil {
		p.notes.reload(p.Plan().Revision, err)
	}
	if err == nil {
		p.finishUpdate(&l.sourceWait)
	}
	p.updateDiscovery()
	for _, done := range l.done {
		done <- err
	}
}

// finishUpdate drops the state of sources that no longer exist, and records the first answers of the new ones.
func (p *Planner) finishUpdate(a *sourceWait) {
	known := p.good.Sources()
	maps.DeleteFunc(p.refused, func(s plan.Source, _ []plan.Server) bool { return !known[s] })
	p.notes.keep(known)
	p.notes.override(p.good.Overrides)
	for _, s := range slices.SortedFunc(maps.Keys(a.early), plan.CompareSources) { // they are logged
		p.noteFound(s, a.early[s].servers != nil, a.early[s].err)
	}
}
