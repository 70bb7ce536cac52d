package planner

import (
	"cmp"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"go.uber.org/zap"
)

// Planner merges the parts of all sources into plans, which its target carries out. Its methods may be called from any
// goroutine.
//
// A change waits for others for [Config.Gather], counted from the first of them, so that a burst is one plan, and a
// steady stream of changes delays none. If the plan of all of them is refused, they are tried one by one: a refusal is
// reported to its source, and the last good part of that source stays.
type Planner struct {
	cfg     Config
	plan    atomic.Pointer[plan.Plan]
	inForce atomic.Pointer[plan.File]

	// Input since the last step.
	mu       sync.Mutex
	reloads  []chan error
	edits    []edit
	controls []controlUpdate
	reports  map[plan.Source]report
	read     *loadResult
	pending  bool // there is input
	closed   bool

	notes   *notes
	wake    chan struct{} // has room for one
	end     context.CancelFunc
	ended   chan struct{}
	reading sync.WaitGroup // of files

	// Only steps use these.
	target   plan.Target
	good     plan.Parts                    // the plan in force is their merge
	refused  map[plan.Source][]plan.Server // tried again with each other change
	loading  *fileLoad                     // nil without a reload in progress
	coming   *controlUpdate                // nil without an update in progress
	gathered time.Time                     // when the changes so far are put in force; zero without any
	expires  time.Time                     // when the first override expires; zero without any
}

// Config configures a [Planner].
type Config struct {
	// Load reads the file, and looks up its names. Each call has a new goroutine, or is part of a step of Driver; calls
	// do not overlap.
	Load func(ctx context.Context) (*plan.File, error)
	// Begin makes the target, which has carried out the first plan when Begin returns.
	Begin func(f *plan.File, first *plan.Plan) (plan.Target, error)
	// Discover starts the sources of these configurations that do not run, and stops those that none of them has. They
	// report to [Planner.Discovered]. The last configuration counts for settings. It does not block. It is nil without
	// discovery.
	Discover func(configs ...*config.Config)
	// Committed is called after each plan that was put in force, on the planner's goroutine. It does not block. May
	// be nil.
	Committed func(f *plan.File, d plan.Diff)
	// Overrides and Drains are those of the process before this one, in effect from the first plan on. Those of servers
	// that do not exist have no effect.
	Overrides map[plan.ServerKey]plan.Override
	Drains    map[plan.DrainRule]plan.Stamp
	// Overridden is called, on the planner's goroutine, when overrides or drains may have changed, with maps that do not
	// change. It does not block. May be nil.
	Overridden func(map[plan.ServerKey]plan.Override, map[plan.DrainRule]plan.Stamp)
	// Control is the part of the control plane from the first plan on: of the process before this one, or the last good
	// one. May be nil.
	Control *plan.Control
	// LeftOut is called, on the planner's goroutine, with the errors of items of the control plane that conflict with a
	// file: the plan that took effect with the file omits them. It does not block. May be nil.
	LeftOut func([]*plan.ControlError)
	Log     *zap.Logger
	// Driver is set if the owner makes the steps of the planner, which is neither started nor closed then. If it is nil,
	// Start begins a goroutine that makes them.
	Driver *Driver

	// Gather is how long a change waits for others. 0: 10 ms.
	Gather time.Duration
	// FirstAnswer is how long a file waits for the first answers of its new sources, so that its backends are not
	// empty for a moment. 0: 5 s.
	FirstAnswer time.Duration
}

const (
	defaultGather      = 10 * time.Millisecond
	defaultFirstAnswer = 5 * time.Second
	maxLines           = 100         // logged for one plan
	expiryRetry        = time.Second // after a plan without an expired override was refused
)

// edit is a change of overrides or drains.
type edit struct {
	backend string // "": any
	apply   func(in *plan.Plan, parts *plan.Parts) error
	done    chan error
}

// report is the result of a source's lookup.
type report struct {
	servers []plan.Server // nil: as in the last report
	err     error
}

// ErrNoServer reports an override of a backend or a server that does not exist.
var ErrNoServer = plan.ErrNoServer

// New returns a planner without a plan. [Planner.Start] starts it.
func New(cfg Config) *Planner {
	cfg.Gather = cmp.Or(cfg.Gather, defaultGather)
	cfg.FirstAnswer = cmp.Or(cfg.FirstAnswer, defaultFirstAnswer)
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	return &Planner{
		cfg: cfg, good: plan.Parts{Control: cfg.Control, Overrides: cfg.Overrides, Drains: cfg.Drains},
		notes:   newNotes(cfg.Log),
		reports: map[plan.Source]report{}, refused: map[plan.Source][]plan.Server{},
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
}

// Start reads the file, and returns when the first plan is in force. When ctx is done before that, it gives up. After
// an error, p is closed. It is called once, before the other methods, and not with a [Driver].
func (p *Planner) Start(ctx context.Context) error {
	if p.cfg.Driver != nil {
		panic("planner: Start of a planner with a Driver: its owner calls BeginReload and Step")
	}
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	p.end = end
	go p.run(running)
	err := p.Reload(ctx)
	if err != nil {
		p.Close()
	}
	return err
}

// Plan returns the plan in force.
func (p *Planner) Plan() *plan.Plan { return p.plan.Load() }

// InForce returns the file in force with the additions of the control plane, or nil before the first plan.
func (p *Planner) InForce() *plan.File { return p.inForce.Load() }

// Status returns the status of the plan's sources.
func (p *Planner) Status() Status {
	var revision uint64
	if in := p.Plan(); in != nil {
		revision = in.Revision
	}
	return p.notes.status(revision)
}

// Reload reads the file again, and returns when it is in force, or with the reason why it is not. When ctx is done it
// returns earlier, and the reload continues.
func (p *Planner) Reload(ctx context.Context) error { return p.await(ctx, p.BeginReload()) }

// BeginReload reads the file again. It sends the result that [Planner.Reload] waits for.
func (p *Planner) BeginReload() <-chan error {
	return p.request(func(done chan error) { p.reloads = append(p.reloads, done) })
}

// Override replaces the override of the server with this name or address. It returns when that is in force, or with the
// reason why it is not. The zero Override removes it.
func (p *Planner) Override(backend, server string, o plan.Override) error {
	if err := o.Check(); err != nil {
		return err
	}
	return p.await(context.Background(), p.BeginOverride(backend, server, o))
}

// BeginOverride replaces the override of a server by a valid one. It sends the result that [Planner.Override] waits
// for.
func (p *Planner) BeginOverride(backend, server string, o plan.Override) <-chan error {
	return p.beginEdit(backend, func(in *plan.Plan, parts *plan.Parts) error {
		return parts.EditOverride(in, backend, server, func(into *plan.Override) error {
			*into = o
			return nil
		})
	})
}

// Edit changes overrides and drains of a backend, or of any backend if that is "". It returns when that is in force, or
// with the reason why it is not, such as an error of edit. edit has the plan in force, is called on the planner's
// goroutine, perhaps several times, and changes only its parts.
func (p *Planner) Edit(ctx context.Context, backend string, edit func(in *plan.Plan, parts *plan.Parts) error) error {
	return p.await(ctx, p.beginEdit(backend, edit))
}

func (p *Planner) beginEdit(backend string, change func(*plan.Plan, *plan.Parts) error) <-chan error {
	return p.request(func(done chan error) { p.edits = append(p.edits, edit{backend, change, done}) })
}

// Control replaces the part of the control plane, or removes it if c is nil. It returns when that is in force, or with
// the reason why it is not: then the part before stays. An error of one listener or backend is a [plan.ControlError],
// joined with others, so that the caller can leave that item out and try again: see [plan.ControlErrors] and
// [plan.Control.Without]. The first answers of new sources are awaited for a moment, as those of a file are. A backend
// that would have no servers without them stays as it is until one has answered. When ctx is done it returns earlier,
// and the change continues.
func (p *Planner) Control(ctx context.Context, c *plan.Control) error {
	return p.await(ctx, p.request(func(done chan error) {
		p.controls = append(p.controls, controlUpdate{control: c, done: done})
	}))
}

// Discovered reports the result of a source's lookup. It does not block. nil servers stand for those of its last
// report; an empty slice that is not nil is none. If err is not nil, servers are those that are still known. The
// planner owns servers.
func (p *Planner) Discovered(source plan.Source, servers []plan.Server, err error) {
	p.enqueue(func() {
		if servers == nil { // keep an earlier report that was not taken yet
			servers = p.reports[source].servers
		}
		p.reports[source] = report{servers, err}
	})
}

// request adds input whose result is sent.
func (p *Planner) request(add func(done chan error)) <-chan error {
	done := make(chan error, 1)
	if !p.enqueue(func() { add(done) }) {
		done <- net.ErrClosed
	}
	return done
}

// enqueue calls add, which adds input for the next step, unless the planner is closed.
func (p *Planner) enqueue(add func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	add()
	p.pending = true
	p.signal()
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

// Close stops a planner that was started, and waits for a change that has begun. The plan in force stays.
func (p *Planner) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end()
	<-p.ended
}
