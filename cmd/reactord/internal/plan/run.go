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

// loading is a file on its way: it is read, and then it waits for its new sources.
type loading struct {
	done []chan error
	file *File // nil: it is being read
	arrival
}

// controlling is a part of the control plane on its way.
type controlling struct {
	control *Control
	done    chan error
	arrival
}

// arrival is something on its way that waits for the first answers of its new sources.
type arrival struct {
	sources map[Source]bool // all of them; nil: they are not known yet
	missing map[Source]bool
	early   map[Source]report // of the new ones
	expired <-chan time.Time  // it waits no longer
}

// complete reports whether a waits for nothing any more.
func (a *arrival) complete() bool { return a.sources != nil && len(a.missing) == 0 }

// answers takes what the sources of parts in force have not reported. first: nothing is in force yet.
func (a *arrival) answer(s Source, r report, first bool) {
	if r.servers != nil || first {
		delete(a.missing, s)
	} // else what is in force has servers; this one waits for an answer as long as it may
	a.early[s] = r
}

// come puts what was answered early into parts.
func (a *arrival) come(parts *Parts) {
	for s, r := range a.early {
		if r.servers != nil {
			parts.Discovered[s] = r.servers
		}
	}
}

type loadResult struct {
	file *File
	err  error
}

// change is what one source has to change.
type change struct {
	edit     func(*Parts) error
	backends []string    // the only ones that it concerns; nil: any
	file     bool        // it is a file, for which items of the control plane make room
	control  bool        // it is a part of the control plane
	done     func(error) // told whether it is in force
}

func (p *Planner) run(ctx context.Context) {
	defer close(p.ended)
	defer p.finish()
	var gathered <-chan time.Time
	for {
		var late, lateControl <-chan time.Time
		if p.loading != nil {
			late = p.loading.expired
		}
		if p.coming != nil {
			lateControl = p.coming.expired
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
			p.load(ctx)
			p.control()
			if gathered == nil {
				gathered = time.After(p.cfg.Gather)
			}
		case <-gathered:
			gathered = nil
			p.apply(ctx, p.changes())
		case r := <-p.loaded:
			p.wait(r)
			p.apply(ctx, p.changes())
		case <-late:
			p.loading.missing = nil
			p.apply(ctx, p.changes())
		case <-lateControl:
			p.coming.missing = nil
			p.apply(ctx, p.changes())
		}
		p.load(ctx)
		p.control()
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
	l.file = r.file
	p.arrives(&l.arrival, Parts{File: r.file, Control: p.good.Control}, p.cfg.FirstAnswer)
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
		p.arrives(&c.arrival, Parts{File: p.good.File, Control: c.control}, p.cfg.FirstAnswer/5)
		if c.complete() {
			p.poke()
		}
	}
}

// poke has the planner look again.
func (p *Planner) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// known is the sources of what is in force.
func (p *Planner) known() map[Source]bool {
	if p.good.File == nil {
		return nil
	}
	return p.good.sources()
}

// arrives has a wait for the sources of next that are new, for patience.
func (p *Planner) arrives(a *arrival, next Parts, patience time.Duration) {
	a.sources, a.missing, a.early = next.sources(), map[Source]bool{}, map[Source]report{}
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

// sources is the sources of all backends; f may be nil. Only the planner's goroutine calls it.
func (f *File) sources() map[Source]bool {
	if f == nil {
		return nil
	}
	if f.known != nil {
		return f.known
	}
	f.known = sourcesOf(f.Config.Backends)
	return f.known
}

func sourcesOf(backends []config.Backend) map[Source]bool {
	all := map[Source]bool{}
	for i := range backends {
		for _, s := range Sources(&backends[i]) {
			all[s] = true
		}
	}
	return all
}

// changes takes what the sources have said.
func (p *Planner) changes() []change {
	p.mu.Lock()
	reports, overrides := p.reports, p.overrides
	p.reports, p.overrides = map[Source]report{}, nil
	p.mu.Unlock()
	var all []change
	p.answers(reports)
	if l := p.loading; l != nil && l.complete() {
		all = append(all, p.fileChange(l))
	}
	if c := p.coming; c != nil && c.complete() {
		all = append(all, p.controlChange(c))
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

// answers takes those reports out that belong to what is on its way, and those of sources that are not known any more.
func (p *Planner) answers(reports map[Source]report) {
	known, first := p.known(), p.good.File == nil
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

func (p *Planner) fileChange(l *loading) change {
	return change{
		edit: func(parts *Parts) error {
			parts.File = l.file
			l.come(parts)
			return nil
		},
		file: true,
		done: p.reloaded,
	}
}

// controlChange puts a part of the control plane in force.
func (p *Planner) controlChange(c *controlling) change {
	next := c.control.keep(p.good.Control, func(s Source) bool {
		_, known := p.good.Discovered[s]
		return known || c.early[s].servers != nil
	})
	discovers := len(next.sources())+len(p.good.Control.sources()) > 0
	one := change{
		edit: func(parts *Parts) error {
			parts.Control = next
			c.come(parts)
			return nil
		},
		control: true,
		done: func(err error) {
			p.coming = nil
			if err == nil {
				p.accepted(&c.arrival)
				p.logPostponed(next)
			}
			if discovers {
				p.discover()
			}
			c.done <- err
		},
	}
	if backends, only := next.changed(p.good.Control); only {
		one.backends = append([]string{}, backends...)
	}
	return one
}

// logPostponed says which backends wait for the answers of their new names.
func (p *Planner) logPostponed(c *Control) {
	if c == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.postponed)) {
		p.cfg.Log.Warn("no answer from DNS; the backend keeps its servers until there is one", zap.String("backend", name))
	}
}

func (f *File) has(backend string) bool {
	return slices.ContainsFunc(f.Config.Backends, func(b config.Backend) bool { return b.Name == backend })
}

func (p *Planner) discoveredChange(s Source, r report) change {
	awaited := p.good.Control.awaits(s)
	one := change{
		backends: []string{s.Backend},
		edit: func(parts *Parts) error {
			if parts.Control.awaits(s) {
				parts.Control = parts.Control.advance(s.Backend)
			}
			if parts.sources()[s] { // else the file that is put in force with it has removed it
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
				p.notes.keep(p.good.sources())
				p.discover()
			}
		},
	}
	if awaited {
		one.backends = nil // its settings change, too
	}
	return one
}

// noteFound notes the result of a source that is known.
func (p *Planner) noteFound(s Source, came bool, err error) {
	if !p.good.sources()[s] {
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
		backends: []string{o.backend},
		edit: func(parts *Parts) error {
			switch {
			case !parts.has(o.backend): // the file that is put in force with it has removed it
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

// try puts all of the changes in force, or none. Items of the control plane make room for a file: a name or an address
// that it has belongs to it.
func (p *Planner) try(ctx context.Context, changes []change) error {
	var left []*ControlError
	for {
		err := p.tryWithout(ctx, changes, left)
		if err == nil && len(left) > 0 && p.cfg.LeftOut != nil {
			p.cfg.LeftOut(left)
		}
		items, rest := ControlErrors(err)
		if len(items) == 0 || rest != nil || !makesRoom(changes) {
			return err
		}
		left = append(left, items...)
	}
}

// makesRoom reports whether changes have a file, for which the part of the control plane in force makes room. One that
// comes with it is refused instead, so that who says it knows.
func makesRoom(changes []change) bool {
	return slices.ContainsFunc(changes, func(c change) bool { return c.file }) &&
		!slices.ContainsFunc(changes, func(c change) bool { return c.control })
}

// tryWithout puts all of the changes in force, or none. Items of the control plane are left out.
func (p *Planner) tryWithout(ctx context.Context, changes []change, left []*ControlError) error {
	edits := make([]func(*Parts) error, len(changes), len(changes)+1)
	for i := range changes {
		edits[i] = changes[i].edit
	}
	if len(left) > 0 {
		edits = append(edits, func(parts *Parts) error {
			parts.Control = parts.Control.Without(left)
			return nil
		})
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
	next, err := merge(&parts, before, untouched(changes, before))
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
			return parts.blamed(err)
		}
	}
	p.good = parts
	p.whole.Store(&parts.made.File)
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
		if c.backends == nil || before == nil {
			return nil
		}
		for _, b := range c.backends {
			touched[b] = true
		}
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
		p.accepted(&l.arrival)
	}
	p.discover()
	for _, done := range l.done {
		done <- err
	}
}

// accepted forgets what belongs to the parts before, and notes what the new sources have answered.
func (p *Planner) accepted(a *arrival) {
	known := p.good.sources()
	maps.DeleteFunc(p.refused, func(s Source, _ []Server) bool { return !known[s] })
	p.notes.keep(known)
	p.notes.override(p.good.Overrides)
	for s, r := range a.early {
		p.noteFound(s, r.servers != nil, r.err)
	}
}

// discover has exactly the sources of what is in force, and of what is on its way, run.
func (p *Planner) discover() {
	if p.cfg.Discover == nil {
		return
	}
	var all []*config.Config
	if l := p.loading; l != nil && l.file != nil {
		all = append(all, l.file.configs(p.good.Control)...)
	}
	if p.good.File != nil {
		if c := p.coming; c != nil {
			all = append(all, p.good.File.configs(c.control)...)
		}
		all = append(all, p.good.File.configs(p.good.Control)...)
	}
	p.cfg.Discover(all...)
}

// configs is what says which sources a file with a part of the control plane has. Their settings are the file's.
func (f *File) configs(c *Control) []*config.Config {
	if len(c.sources()) == 0 {
		return []*config.Config{f.Config}
	}
	return []*config.Config{f.Config, {Resolver: f.Config.Resolver, Backends: c.Backends}}
}
