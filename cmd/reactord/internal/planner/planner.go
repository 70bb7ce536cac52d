package planner

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"go.uber.org/zap"
)

// Planner merges what the sources say into plans, and has its target carry them out. Its methods may be called from
// any goroutine.
//
// A change waits for others for [Config.Gather], counted from the first of them, so that a burst is one plan, and a
// steady stream of changes delays none. If the plan of all of them is refused, they are tried one by one: what is
// refused is reported to its source, and the last good part of that source stays.
type Planner struct {
	cfg   Config
	plan  atomic.Pointer[plan.Plan]
	whole atomic.Pointer[plan.File]

	// What the sources have said since the planner has looked.
	mu        sync.Mutex
	reloads   []chan error
	overrides []override
	controls  []controlling
	reports   map[plan.Source]report
	closed    bool
	wake      chan struct{} // has room for one

	notes *notes
	end   context.CancelFunc
	ended chan struct{}

	// Only the planner's goroutine has these.
	target  plan.Target
	good    plan.Parts                    // the plan in force is their merge
	refused map[plan.Source][]plan.Server // what was refused and may become good with another change
	loading *loading                      // nil: no file is on its way
	coming  *controlling                  // nil: no part of the control plane is on its way
	loaded  chan loadResult
}

// Config is what a [Planner] works with.
type Config struct {
	// Load reads the file, and looks up its names. It is called on a goroutine of its own, one call at a time.
	Load func(ctx context.Context) (*plan.File, error)
	// Begin makes the target, which carries out the first plan when it returns.
	Begin func(f *plan.File, first *plan.Plan) (plan.Target, error)
	// Discover starts the sources of these configurations that do not run, and stops those that neither has. They
	// report to [Planner.Discovered]. The last configuration counts for settings. It does not block. nil: there is no
	// discovery.
	Discover func(configs ...*config.Config)
	// Committed is called after each plan that was put in force, on the planner's goroutine. It does not block. May
	// be nil.
	Committed func(f *plan.File, d plan.Diff)
	// Overrides are there from the first plan on: those of the process before this one. Those of servers that do not
	// exist have no effect.
	Overrides map[plan.ServerKey]plan.Override
	// Control is the part of the control plane from the first plan on: of the process before this one, or the last one
	// that was good. nil: there is none.
	Control *plan.Control
	// LeftOut is called, on the planner's goroutine, with what is wrong with items of the control plane that a file
	// has no room for: they are not in the plan that has come into force with it. It does not block. May be nil.
	LeftOut func([]*plan.ControlError)
	Log     *zap.Logger

	// Gather is how long a change waits for others. 0: 10 ms.
	Gather time.Duration
	// FirstAnswer is how long a file waits for the first answers of its new sources, so that its backends are not
	// empty for a moment. 0: 5 s.
	FirstAnswer time.Duration
}

const (
	defaultGather      = 10 * time.Millisecond
	defaultFirstAnswer = 5 * time.Second
	maxLines           = 100   // logged for one plan
	maxOverrides       = 10000 // kept
)

type override struct {
	backend, server string
	plan.Override
	done chan error
}

// report is what a source has found.
type report struct {
	servers []plan.Server // nil: those of the last report
	err     error
}

// ErrNoServer is the error of an override of a backend or a server that does not exist.
var ErrNoServer = errors.New("no such server")

// New is a planner without a plan. [Planner.Start] starts it.
func New(cfg Config) *Planner {
	cfg.Gather = cmp.Or(cfg.Gather, defaultGather)
	cfg.FirstAnswer = cmp.Or(cfg.FirstAnswer, defaultFirstAnswer)
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	return &Planner{
		cfg: cfg, good: plan.Parts{Control: cfg.Control, Overrides: cfg.Overrides}, notes: newNotes(cfg.Log),
		reports: map[plan.Source]report{}, refused: map[plan.Source][]plan.Server{},
		wake: make(chan struct{}, 1), loaded: make(chan loadResult, 1), ended: make(chan struct{}),
	}
}

// Start reads the file, and returns when the first plan is in force. When ctx is done before that, it gives up. After
// an error, p is closed. It is called once, before the other methods.
func (p *Planner) Start(ctx context.Context) error {
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	p.end = end
	go p.run(running)
	err := p.Reload(ctx)
	if err != nil {
		p.Close()
	}
	return err
}

// Plan is the plan in force.
func (p *Planner) Plan() *plan.Plan { return p.plan.Load() }

// InForce is the file with what the control plane adds to it, as a file; nil: there is no plan yet.
func (p *Planner) InForce() *plan.File { return p.whole.Load() }

// Status is a reading of what the planner knows.
func (p *Planner) Status() Status {
	var revision uint64
	if in := p.Plan(); in != nil {
		revision = in.Revision
	}
	return p.notes.status(revision)
}

// Reload reads the file anew, and returns when it is in force, or why it is not. When ctx is done it returns earlier;
// the reload continues.
func (p *Planner) Reload(ctx context.Context) error {
	done := make(chan error, 1)
	if !p.tell(func() { p.reloads = append(p.reloads, done) }) {
		return net.ErrClosed
	}
	return p.await(ctx, done)
}

// Override replaces the override of a server, which is named by its name or address. It returns when it is in force,
// or why it is not. The zero Override removes it.
func (p *Planner) Override(backend, server string, o plan.Override) error {
	if err := o.Check(); err != nil {
		return err
	}
	done := make(chan error, 1)
	if !p.tell(func() { p.overrides = append(p.overrides, override{backend, server, o, done}) }) {
		return net.ErrClosed
	}
	return p.await(context.Background(), done)
}

// Control replaces the part of the control plane. It returns when that is in force, or why it is not: then the part
// before stays. What concerns one listener or backend is a [plan.ControlError], joined with others, so that the caller
// can leave that item out and try again: see [plan.ControlErrors] and [plan.Control.Without]. nil removes the part. The
// first answers of new sources are awaited for a moment, as those of a file are. A backend that would have no servers
// without them stays as it is until one has answered. When ctx is done it returns earlier; the change continues.
func (p *Planner) Control(ctx context.Context, c *plan.Control) error {
	done := make(chan error, 1)
	if !p.tell(func() { p.controls = append(p.controls, controlling{control: c, done: done}) }) {
		return net.ErrClosed
	}
	return p.await(ctx, done)
}

// Discovered is called by a source that has looked for servers. It does not block. nil servers are those that it has
// reported before; an empty slice that is not nil is none. err is what went wrong: then servers are those that are
// still known. servers belongs to the planner.
func (p *Planner) Discovered(source plan.Source, servers []plan.Server, err error) {
	p.tell(func() {
		if servers == nil { // what it has found before and was not looked at yet
			servers = p.reports[source].servers
		}
		p.reports[source] = report{servers, err}
	})
}

// tell makes a change of what the sources have said, unless the planner is closed.
func (p *Planner) tell(change func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	change()
	p.poke()
	return true
}

func (p *Planner) await(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ended:
		select {
		case err := <-done:
			return err
		default:
			return net.ErrClosed
		}
	}
}

// Close ends the planner. The plan in force stays. It waits for a change that has begun.
func (p *Planner) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end()
	<-p.ended
}
