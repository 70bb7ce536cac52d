package planner

import (
	"context"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// loading is a file on its way: it is read, and then it waits for its new sources.
type loading struct {
	done []chan error
	file *plan.File // nil: it is being read
	arrival
}

// controlling is a part of the control plane on its way.
type controlling struct {
	control *plan.Control
	done    chan error
	arrival
}

// arrival is something on its way that waits for the first answers of its new sources.
type arrival struct {
	sources map[plan.Source]bool // all of them; nil: they are not known yet
	missing map[plan.Source]bool
	early   map[plan.Source]report // of the new ones
	expired <-chan time.Time       // it waits no longer
}

// complete reports whether a waits for nothing any more.
func (a *arrival) complete() bool { return a.sources != nil && len(a.missing) == 0 }

// answers takes what the sources of parts in force have not reported. first: nothing is in force yet.
func (a *arrival) answer(s plan.Source, r report, first bool) {
	if r.servers != nil || first {
		delete(a.missing, s)
	} // else what is in force has servers; this one waits for an answer as long as it may
	a.early[s] = r
}

// come puts what was answered early into parts.
func (a *arrival) come(parts *plan.Parts) {
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

// load begins to read the file if that was asked for, unless one is on its way.
func (p *Planner) load(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loading != nil || len(p.reloads) == 0 {
		return
	}
	p.loading = &loading{done: p.reloads}
	p.reloads = nil
	go func() {
		f, err := p.cfg.Load(ctx)
		p.loaded <- loadResult{f, err}
	}()
}

// wait has the file that was read wait for its new sources.
func (p *Planner) wait(r loadResult) {
	l := p.loading
	if r.err != nil {
		p.reloaded(r.err)
		return
	}
	l.file = r.file
	p.arrives(&l.arrival, plan.Parts{File: r.file, Control: p.good.Control}, p.cfg.FirstAnswer)
}

// control takes the next part of the control plane, unless one is on its way.
func (p *Planner) control() {
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
		p.arrives(&c.arrival, plan.Parts{File: p.good.File, Control: c.control}, p.cfg.FirstAnswer/5)
		if c.complete() {
			p.poke()
		}
	}
}

// arrives has a wait for the sources of next that are new, for patience.
func (p *Planner) arrives(a *arrival, next plan.Parts, patience time.Duration) {
	a.sources, a.missing, a.early = next.Sources(), map[plan.Source]bool{}, map[plan.Source]report{}
	known := p.known()
	for s := range a.sources {
		if !known[s] && p.cfg.Discover != nil {
			a.missing[s] = true
		}
	}
	if len(a.missing) > 0 {
		a.expired = time.After(patience)
		p.discover()
	}
}

// known is the sources of what is in force.
func (p *Planner) known() map[plan.Source]bool {
	if p.good.File == nil {
		return nil
	}
	return p.good.Sources()
}

// discover has exactly the sources of what is in force, and of what is on its way, run.
func (p *Planner) discover() {
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

// configs returns what says which sources a file with a part of the control plane has. Their settings are the file's.
func configs(f *plan.File, c *plan.Control) []*config.Config {
	if len(c.Sources()) == 0 {
		return []*config.Config{f.Config}
	}
	return []*config.Config{f.Config, {Resolver: f.Config.Resolver, Backends: c.Backends}}
}
