package planner

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
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

// takeChanges takes the reports and edits since the last call, and returns all changes that are complete.
func (p *Planner) takeChanges(now time.Time) []change {
	p.mu.Lock()
	reports, edits := p.reports, p.edits
	p.reports, p.edits = map[plan.Source]report{}, nil
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
	for _, e := range edits {
		if c, ok := p.editChange(e); ok {
			all = append(all, c)
		}
	}
	if p.expire(now) {
		all = append(all, p.expiryChange(now))
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

// editChange returns the change of an edit. If it cannot be made of the parts in force, it ends with an error, and ok
// is false: others do not wait for it.
func (p *Planner) editChange(e edit) (c change, ok bool) {
	in := p.Plan()
	apply := func(parts *plan.Parts) error { return e.apply(in, parts) }
	if in == nil {
		e.done <- ErrNoServer
		return change{}, false
	}
	if _, err := p.good.With(apply); err != nil {
		e.done <- err
		return change{}, false
	}
	c = change{
		edit: apply,
		done: func(err error) {
			if err == nil {
				p.noteOverrides()
			}
			e.done <- err
		},
	}
	if e.backend != "" {
		c.backends = []string{e.backend}
	}
	return c, true
}

// expiryChange ends the overrides that have expired by now.
func (p *Planner) expiryChange(now time.Time) change {
	due, _ := p.good.With() // a copy
	ended := due.Expire(now)
	c := change{
		backends: []string{},
		edit:     func(parts *plan.Parts) error { parts.Expire(now); return nil },
		done: func(err error) {
			if err != nil {
				p.cfg.Log.Error("cannot end the forced health of servers: trying again", zap.Error(err))
				return
			}
			p.noteOverrides()
			for _, key := range ended {
				p.cfg.Log.Info("the forced health of a server has expired", zap.String("backend", key.Backend),
					zap.Stringer("address", key.Address))
			}
		},
	}
	for _, key := range ended {
		c.backends = append(c.backends, key.Backend)
	}
	return c
}

// noteOverrides records overrides and drains that may have changed.
func (p *Planner) noteOverrides() {
	p.notes.override(p.good.Overrides, p.good.Drains)
	if p.cfg.Overridden != nil {
		p.cfg.Overridden(p.good.Overrides, p.good.Drains)
	}
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
	p.noteOverrides()
	for _, s := range slices.SortedFunc(maps.Keys(a.early), plan.CompareSources) { // they are logged
		p.noteFound(s, a.early[s].servers != nil, a.early[s].err)
	}
}
