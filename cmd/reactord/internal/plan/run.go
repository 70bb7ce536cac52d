package plan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"go.uber.org/zap"
)

// loading is a file on its way: it is read, and then it waits for the first answers of its new sources.
type loading struct {
	done    []chan error
	file    *File // nil: it is being read
	missing map[Source]bool
	early   map[Source]report // of its new sources
	expired <-chan time.Time  // it waits no longer
}

type loadResult struct {
	file *File
	err  error
}

// change is what one source has to change.
type change struct {
	edit    func(*Parts) error
	backend string      // the only one that it concerns; "": any
	done    func(error) // told whether it is in force
}

func (p *Planner) run(ctx context.Context) {
	defer close(p.ended)
	defer p.finish()
	var gathered <-chan time.Time
	for {
		var expired <-chan time.Time
		if p.loading != nil {
			expired = p.loading.expired
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
			p.load(ctx)
			if gathered == nil {
				gathered = time.After(p.cfg.Gather)
			}
		case <-gathered:
			gathered = nil
			p.apply(ctx, p.changes())
		case r := <-p.loaded:
			p.wait(r)
			p.apply(ctx, p.changes())
		case <-expired:
			p.loading.missing = nil
			p.apply(ctx, p.changes())
		}
		p.load(ctx)
	}
}

// finish ends what is on its way.
func (p *Planner) finish() {
	if p.loading != nil && p.loading.file == nil {
		<-p.loaded
	}
	if p.cfg.Discover != nil {
		p.cfg.Discover()
	}
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
	l.file, l.missing, l.early = r.file, map[Source]bool{}, map[Source]report{}
	known := p.good.File.sources()
	for s := range r.file.sources() {
		if !known[s] && p.cfg.Discover != nil {
			l.missing[s] = true
		}
	}
	if len(l.missing) == 0 {
		return
	}
	l.expired = time.After(p.cfg.FirstAnswer)
	if p.good.File == nil {
		p.cfg.Discover(r.file.Config)
	} else {
		p.cfg.Discover(r.file.Config, p.good.File.Config)
	}
}

// sources is the sources of all backends; f may be nil. Only the planner's goroutine calls it.
func (f *File) sources() map[Source]bool {
	if f == nil {
		return nil
	}
	if f.known != nil {
		return f.known
	}
	f.known = map[Source]bool{}
	for i := range f.Config.Backends {
		for _, s := range Sources(&f.Config.Backends[i]) {
			f.known[s] = true
		}
	}
	return f.known
}

// changes takes what the sources have said.
func (p *Planner) changes() []change {
	p.mu.Lock()
	reports, overrides := p.reports, p.overrides
	p.reports, p.overrides = map[Source]report{}, nil
	p.mu.Unlock()
	var all []change
	p.answers(reports)
	if l := p.loading; l != nil && l.file != nil && len(l.missing) == 0 {
		all = append(all, p.fileChange(l))
	}
	for _, s := range slices.SortedFunc(maps.Keys(reports), compareSources) {
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
		for _, s := range slices.SortedFunc(maps.Keys(p.refused), compareSources) {
			if r := reports[s]; r.servers == nil {
				all = append(all, p.discoveredChange(s, report{p.refused[s], r.err}))
			}
		}
	}
	return all
}

// answers takes those reports out that belong to a file on its way, and those of sources that are not known any more.
func (p *Planner) answers(reports map[Source]report) {
	known := p.good.File.sources()
	var coming map[Source]bool
	if l := p.loading; l != nil && l.file != nil {
		coming = l.file.sources()
	}
	for s, r := range reports {
		if known[s] {
			continue
		}
		if coming[s] {
			if r.servers != nil || p.good.File == nil {
				delete(p.loading.missing, s)
			} // else the file that is in force has servers; the new one waits for an answer as long as it may
			p.loading.early[s] = r
		}
		delete(reports, s)
	}
}

func (p *Planner) fileChange(l *loading) change {
	return change{
		edit: func(parts *Parts) error {
			parts.File = l.file
			known := l.file.sources()
			for s, r := range l.early {
				if r.servers != nil {
					parts.Discovered[s] = r.servers
				}
			}
			maps.DeleteFunc(parts.Discovered, func(s Source, _ []Server) bool { return !known[s] })
			maps.DeleteFunc(parts.Overrides, func(k ServerKey, _ Override) bool { return !l.file.has(k.Backend) })
			return nil
		},
		done: p.reloaded,
	}
}

func (f *File) has(backend string) bool {
	return slices.ContainsFunc(f.Config.Backends, func(b config.Backend) bool { return b.Name == backend })
}

func (p *Planner) discoveredChange(s Source, r report) change {
	return change{
		backend: s.Backend,
		edit: func(parts *Parts) error {
			if parts.File.sources()[s] { // else the file that is put in force with it has removed it
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
		},
	}
}

// noteFound notes the result of a source that is known.
func (p *Planner) noteFound(s Source, came bool, err error) {
	if !p.good.File.sources()[s] {
		delete(p.refused, s)
		return
	}
	p.notes.find(s, p.Plan().Revision, len(p.good.Discovered[s]), came, err)
}

// overrideChange is an override's change, or false if it names no server; then it was told so.
func (p *Planner) overrideChange(o override) (change, bool) {
	key, err := p.serverKey(o.backend, o.server)
	if _, overridden := p.good.Overrides[key]; err == nil && !overridden && len(p.good.Overrides) >= maxOverrides {
		err = fmt.Errorf("there are %d overrides already", maxOverrides)
	}
	if err != nil {
		o.done <- err
		return change{}, false
	}
	return change{
		backend: o.backend,
		edit: func(parts *Parts) error {
			switch {
			case !parts.File.has(o.backend): // the file that is put in force with it has removed it
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

// serverKey finds a server of the plan in force, or one that is overridden, by its name or address.
func (p *Planner) serverKey(backend, server string) (ServerKey, error) {
	plan := p.Plan()
	if plan == nil {
		return ServerKey{}, ErrNoServer
	}
	b := plan.Backend(backend)
	if b == nil {
		return ServerKey{}, fmt.Errorf("backend %q: %w", backend, ErrNoServer)
	}
	if s := b.Server(server); s != nil {
		return ServerKey{backend, s.Address}, nil
	}
	if at, err := netip.ParseAddrPort(server); err == nil {
		if key := (ServerKey{backend, at}); !p.good.Overrides[key].IsZero() {
			return key, nil
		}
	}
	return ServerKey{}, fmt.Errorf("server %q of backend %q: %w", server, backend, ErrNoServer)
}

// apply puts the changes in force: together, or one by one those that can be.
func (p *Planner) apply(ctx context.Context, changes []change) {
	if len(changes) == 0 {
		return
	}
	err := p.try(ctx, changes)
	if err != nil && len(changes) > 1 {
		for _, c := range changes {
			c.done(p.try(ctx, []change{c}))
		}
		return
	}
	for _, c := range changes {
		c.done(err)
	}
}

// try puts all of the changes in force, or none.
func (p *Planner) try(ctx context.Context, changes []change) error {
	edits := make([]func(*Parts) error, len(changes))
	for i := range changes {
		edits[i] = changes[i].edit
	}
	parts, err := p.good.with(edits...)
	if err != nil {
		return err
	}
	file := parts.File != p.good.File
	if file && p.good.File != nil {
		if problems := fixed(p.good.File.Config, parts.File.Config); len(problems) > 0 {
			return parts.File.errors(problems)
		}
	}
	before := p.Plan()
	next, err := merge(parts, before, untouched(changes, before))
	if err != nil {
		return err
	}
	d := Compare(before, next)
	if before != nil {
		next.Revision = before.Revision
	}
	if !d.Empty() {
		next.Revision++
		if err := p.carryOut(ctx, parts.File, next, d); err != nil {
			return err
		}
	}
	p.good = parts
	p.plan.Store(next)
	p.log(d)
	if p.cfg.Committed != nil && (file || !d.Empty()) {
		p.cfg.Committed(parts.File, d)
	}
	return nil
}

// untouched reports for a backend whether no change concerns it. nil: none is.
func untouched(changes []change, before *Plan) func(string) bool {
	touched := map[string]bool{}
	for _, c := range changes {
		if c.backend == "" || before == nil {
			return nil
		}
		touched[c.backend] = true
	}
	return func(backend string) bool { return !touched[backend] }
}

// carryOut has the target do what next says.
func (p *Planner) carryOut(ctx context.Context, f *File, next *Plan, d Diff) error {
	if p.target == nil {
		target, err := p.cfg.Begin(f, next)
		if err == nil {
			p.target = target
		}
		return err
	}
	change, err := p.target.Prepare(next, d)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		change.Discard()
		return net.ErrClosed
	}
	change.Commit()
	return nil
}

func (p *Planner) log(d Diff) {
	if d.Old == nil {
		return
	}
	for _, line := range d.Lines(maxLines) {
		p.cfg.Log.Info("changed", zap.Uint64("revision", d.New.Revision), zap.String("change", line))
	}
}

// reloaded tells the result of a reload.
func (p *Planner) reloaded(err error) {
	l := p.loading
	p.loading = nil
	if p.Plan() != nil {
		p.notes.reload(p.Plan().Revision, err)
	}
	if err == nil {
		p.accepted(l)
	}
	p.discover()
	for _, done := range l.done {
		done <- err
	}
}

// accepted forgets what belongs to the file before, and notes what the new sources have answered.
func (p *Planner) accepted(l *loading) {
	known := p.good.File.sources()
	maps.DeleteFunc(p.refused, func(s Source, _ []Server) bool { return !known[s] })
	p.notes.keep(known)
	p.notes.override(p.good.Overrides)
	for s, r := range l.early {
		p.noteFound(s, r.servers != nil, r.err)
	}
}

// discover has exactly the sources of the file in force run.
func (p *Planner) discover() {
	switch {
	case p.cfg.Discover == nil:
	case p.good.File == nil:
		p.cfg.Discover()
	default:
		p.cfg.Discover(p.good.File.Config)
	}
}
