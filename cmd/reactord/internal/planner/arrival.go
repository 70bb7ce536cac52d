package planner

import (
	"context"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// fileLoad is a reload in progress: the file is read, and then waits for its new sources.
type fileLoad struct {
	done []chan error
	file *plan.File // nil while it is read
	sourceWait
}

// controlUpdate is a new part of the control plane, which waits for its new sources.
type controlUpdate struct {
	control *plan.Control
	done    chan error
	sourceWait
}

// sourceWait is the wait of a new part for the first answers of its new sources.
type sourceWait struct {
	sources map[plan.Source]bool // old and new; nil while the file is read
	missing map[plan.Source]bool
	early   map[plan.Source]report // of new sources
	until   time.Time              // zero: nothing is awaited
}

// expire ends a wait that has lasted long enough, and reports whether it has.
func (a *sourceWait) expire(now time.Time) bool {
	if a.until.IsZero() || now.Before(a.until) {
		return false
	}
	a.missing, a.until = nil, time.Time{}
	return true
}

// complete reports whether the wait is over.
func (a *sourceWait) complete() bool { return a.sources != nil && len(a.missing) == 0 }

// answer records the report of a new source. first reports whether nothing is in force yet.
func (a *sourceWait) answer(s plan.Source, r report, first bool) {
	if r.servers != nil || first {
		delete(a.missing, s)
	} // else the plan in force still has servers, and the wait for an answer continues
	a.early[s] = r
}

// addEarly adds the servers that the new sources have answered to parts.
func (a *sourceWait) addEarly(parts *plan.Parts) {
	for s, r := range a.early {
		if r.servers != nil {
			parts.Discovered[s] = r.servers
		}
	}
}

type loadResult struct {
	file *plan.File
	err  error
}

// load starts a requested reload, unless one is in progress.
func (p *Planner) load(ctx context.Context) {
	if !p.beginLoading() {
		return
	}
	read := func() {
		f, err := p.cfg.Load(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.read = &loadResult{f, err}
		p.signal()
	}
	if p.cfg.Driver == nil {
		p.reading.Go(read)
	} else {
		read()
	}
}

// beginLoading takes the requests to reload the file, and reports whether there are any, and none is in progress.
func (p *Planner) beginLoading() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loading != nil || len(p.reloads) == 0 {
		return false
	}
	p.loading = &fileLoad{done: p.reloads}
	p.reloads = nil
	return true
}

// fileRead takes the result of reading the file, and starts the wait for its new sources.
func (p *Planner) fileRead(r loadResult) {
	l := p.loading
	if r.err != nil {
		p.finishReload(r.err)
		return
	}
	l.file = r.file
	p.awaitSources(&l.sourceWait, plan.Parts{File: r.file, Control: p.good.Control}, p.cfg.FirstAnswer)
}

// nextControl takes the next part of the control plane, unless one is in progress.
func (p *Planner) nextControl() {
	for p.coming == nil && p.good.File != nil {
		p.mu.Lock()
		if len(p.controls) == 0 {
			p.mu.Unlock()
			return
		}
		c := p.controls[0]
		p.controls = p.controls[1:]
		p.mu.Unlock()
		p.coming = &c
		p.awaitSources(&c.sourceWait, plan.Parts{File: p.good.File, Control: c.control}, p.cfg.FirstAnswer/5)
		if c.complete() {
			p.beginGathering(p.now())
		}
	}
}

// awaitSources starts the wait of a for the new sources of next, which lasts at most patience.
func (p *Planner) awaitSources(a *sourceWait, next plan.Parts, patience time.Duration) {
	a.sources, a.missing, a.early = next.Sources(), map[plan.Source]bool{}, map[plan.Source]report{}
	known := p.knownSources()
	for s := range a.sources {
		if !known[s] && p.cfg.Discover != nil {
			a.missing[s] = true
		}
	}
	if len(a.missing) > 0 {
		a.until = p.now().Add(patience)
		p.updateDiscovery()
	}
}

// knownSources returns the sources of the parts in force.
func (p *Planner) knownSources() map[plan.Source]bool {
	if p.good.File == nil {
		return nil
	}
	return p.good.Sources()
}

// updateDiscovery runs exactly the sources of the parts in force and of those in progress.
func (p *Planner) updateDiscovery() {
	if p.cfg.Discover == nil {
		return
	}
	var all []*config.Config
	if l := p.loading; l != nil && l.file != nil {
		all = append(all, configs(l.file, p.good.Control)...)
	}
	if p.good.File != nil {
		if c := p.coming; c != nil {
			all = append(all, configs(p.good.File, c.control)...)
		}
		all = append(all, configs(p.good.File, p.good.Control)...)
	}
	p.cfg.Discover(all...)
}

// configs returns the configurations whose discovery must run: the file's, and one for the backends of the control
// plane, with the resolver of the file.
func configs(f *plan.File, c *plan.Control) []*config.Config {
	if len(c.Sources()) == 0 {
		return []*config.Config{f.Config}
	}
	return []*config.Config{f.Config, {Resolver: f.Config.Resolver, Backends: c.Backends}}
}
