package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"go.uber.org/zap"
)

// Planner merges what the sources say into plans, and has its target carry them out. Its methods may be called from
// any goroutine.
//
// A change waits for others for [Config.Gather], counted from the first of them, so that a burst is one plan, and a
// steady stream of changes delays none. If the plan of all of them is refused, they are tried one by one: what is
// refused is told to its source, and the last good part of that source stays.
type Planner struct {
	cfg   Config
	plan  atomic.Pointer[Plan]
	whole atomic.Pointer[File]

	// What the sources have said since the planner has looked.
	mu        sync.Mutex
	reloads   []chan error
	overrides []override
	controls  []controlling
	reports   map[Source]report
	closed    bool
	wake      chan struct{} // has room for one

	notes *notes
	end   context.CancelFunc
	ended chan struct{}

	// Only the planner's goroutine has these.
	target  Target
	good    Parts               // the plan in force is their merge
	refused map[Source][]Server // what was refused and may become good with another change
	loading *loading            // nil: no file is on its way
	coming  *controlling        // nil: no part of the control plane is on its way
	loaded  chan loadResult
}

// Config is what a [Planner] works with.
type Config struct {
	// Load reads the file, and looks up its names. It is called on a goroutine of its own, one call at a time.
	Load func(ctx context.Context) (*File, error)
	// Begin makes the target, which carries out the first plan when it returns.
	Begin func(f *File, first *Plan) (Target, error)
	// Discover starts the sources of these configurations that do not run, and stops those that neither has. They
	// report to [Planner.Discovered]. The last configuration counts for settings. It does not block. nil: there is no
	// discovery.
	Discover func(configs ...*config.Config)
	// Committed is called after each plan that was put in force, on the planner's goroutine. It does not block. May
	// be nil.
	Committed func(f *File, d Diff)
	// Overrides are there from the first plan on: those of the process before this one. Those of servers that do not
	// exist have no effect.
	Overrides map[ServerKey]Override
	// Control is the part of the control plane from the first plan on: of the process before this one, or the last one
	// that was good. nil: there is none.
	Control *Control
	// LeftOut is called, on the planner's goroutine, with what is wrong with items of the control plane that a file
	// has no room for: they are not in the plan that has come into force with it. It does not block. May be nil.
	LeftOut func([]*ControlError)
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
	Override
	done chan error
}

// report is what a source has found.
type report struct {
	servers []Server // nil: those of the last report
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
		cfg: cfg, good: Parts{Control: cfg.Control, Overrides: cfg.Overrides}, notes: newNotes(cfg.Log),
		reports: map[Source]report{}, refused: map[Source][]Server{},
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
func (p *Planner) Plan() *Plan { return p.plan.Load() }

// InForce is the file with what the control plane adds to it, as a file; nil: there is no plan yet.
func (p *Planner) InForce() *File { return p.whole.Load() }

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
func (p *Planner) Override(backend, server string, o Override) error {
	if w := o.Weight; w != nil && (*w < 0 || *w > maxWeight) {
		return fmt.Errorf("weight %d is out of range: write 0 to %d", *w, maxWeight)
	}
	done := make(chan error, 1)
	if !p.tell(func() { p.overrides = append(p.overrides, override{backend, server, o, done}) }) {
		return net.ErrClosed
	}
	return p.await(context.Background(), done)
}

// Discovered is called by a source that has looked for servers. It does not block. nil servers are those that it has
// reported before; an empty slice that is not nil is none. err is what went wrong: then servers are those that are
// still known. servers belongs to the planner.
func (p *Planner) Discovered(source Source, servers []Server, err error) {
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
	select {
	case p.wake <- struct{}{}:
	default:
	}
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
