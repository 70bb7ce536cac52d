package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/reactor"
)

// Generator makes a load. Its methods are called by one goroutine.
type Generator struct {
	cfg     Config
	pattern *Pattern
	reactor *reactor.Reactor
	workers []*worker
	slips   chan slip
	spare   chan *record.Window
	spans   int
	ended   chan error // what the loops ended with
}

// Phase is so much of a load for so long.
type Phase struct {
	Time     time.Duration
	From, To float64       // messages/s at the beginning and at the end; both 0: the loop is closed
	Patience time.Duration // for replies that are out at the end. Default: the load's Timeout
	Verify   bool          // every byte that comes back is compared
}

// Span is a piece of a phase, or a whole one: windows by part, and how long it took.
type Span struct {
	Windows []*record.Window
	Elapsed time.Duration // of a whole phase: up to the last reply, if that came after its end
	Open    int           // connections that stand at its end
	Busy    float64       // the largest share of the time that a loop was at work, from 0 to 1
}

// ErrNoProgress is what a phase ends with when for some time all that came were failures.
var ErrNoProgress = errors.New("no progress")

// New makes a generator, whose loops run at once. The caller closes it.
func New(cfg Config) (*Generator, error) {
	if err := cfg.prepare(); err != nil {
		return nil, err
	}
	r, err := reactor.New(reactor.Config{Loops: cfg.Loops, Pin: cfg.Pin,
		Loop: reactor.LoopConfig{Ring: cfg.Ring, TimerSlack: -1}})
	if err != nil {
		return nil, err
	}
	piece := 1
	for _, p := range cfg.Parts {
		piece = max(piece, p.Mode.maxPiece())
	}
	g := &Generator{
		cfg:     cfg,
		pattern: NewPattern(cfg.Seed, cfg.Verify || cfg.foreign, piece),
		reactor: r,
		slips:   make(chan slip, 64*cfg.Loops),
		spare:   make(chan *record.Window, 4*cfg.Loops*len(cfg.Parts)),
		ended:   make(chan error, 1),
	}
	for i, l := range r.Loops() {
		g.workers = append(g.workers, &worker{g: g, cfg: &g.cfg, loop: l, index: i,
			sockaddr: cfg.Target.sockaddr(), datagrams: cfg.Target.Datagrams()})
	}
	g.distribute()
	go func() {
		g.ended <- r.Run(func(l *reactor.Loop) {
			for _, w := range g.workers {
				if w.loop == l {
					if cfg.Beside != nil {
						cfg.Beside(l)
					}
					w.init()
				}
			}
		})
	}()
	return g, nil
}

// distribute makes the connections of each part, and deals them out to the workers in turn.
func (g *Generator) distribute() {
	next := 0
	for part, n := range g.cfg.counts() {
		mode := g.cfg.Parts[part].Mode
		for _, w := range g.workers {
			w.groups = append(w.groups, newGroup(w, &g.cfg.Parts[part]))
		}
		for range n {
			group := g.workers[next%len(g.workers)].groups[part]
			c := &conn{}
			c.init(group, next)
			c.session = mode.session(c)
			group.conns = append(group.conns, c)
			next++
		}
	}
}

// Choice tells which ring the loops have, and why.
func (g *Generator) Choice() reactor.RingChoice { return g.workers[0].loop.RingChoice() }

// Connections is how many there are, of all parts together.
func (g *Generator) Connections() int { return g.cfg.Connections }

// Open opens the connections that the modes want to stand in advance.
func (g *Generator) Open(ctx context.Context, observe func(Span)) (Span, error) {
	return g.run(ctx, span{opening: true, end: never}, observe)
}

// Run makes so much load. observe, if not nil, is told about every second of it. When ctx ends or
// nothing but failures comes any more, the error says so and the span what was found until then.
func (g *Generator) Run(ctx context.Context, p Phase, observe func(Span)) (Span, error) {
	s := span{from: p.From, to: p.To, patience: p.Patience, verify: p.Verify}
	if s.patience <= 0 {
		s.patience = g.cfg.Timeout
	}
	s.end = int64(p.Time)
	return g.run(ctx, s, observe)
}

// lead is how far ahead a span's beginning lies, so that all workers know of it in time.
const lead = 2 * time.Millisecond

func (g *Generator) run(ctx context.Context, s span, observe func(Span)) (Span, error) {
	g.spans++
	s.id = g.spans
	s.start = g.workers[0].loop.Clock() + int64(lead)
	if s.end != never {
		s.end += s.start
	}
	c := newCollector(g, s, observe)
	for _, w := range g.workers {
		w.post(func() { w.begin(s) })
	}
	patience := time.NewTicker(g.cfg.GiveUp / 10)
	defer patience.Stop()
	done := ctx.Done()
	var failed error
	for c.running > 0 {
		select {
		case slip := <-g.slips:
			c.take(slip)
		case <-done:
			failed, done = context.Cause(ctx), nil
			g.halt()
		case <-patience.C:
			if failed == nil && c.stuck(g.cfg.GiveUp) {
				failed = c.noProgress(s.opening)
				g.halt()
			}
		case err := <-g.ended:
			g.ended <- err
			return c.total(), errors.Join(err, errors.New("a loop of the generator has ended"))
		}
	}
	return c.total(), failed
}

// halt ends the span in progress.
func (g *Generator) halt() {
	for _, w := range g.workers {
		w.post(w.halt)
	}
}

// window is an empty one. From any thread.
func (g *Generator) window() *record.Window {
	select {
	case w := <-g.spare:
		return w
	default:
		return record.NewWindow()
	}
}

// giveBack recycles a window.
func (g *Generator) giveBack(w *record.Window) {
	w.Reset()
	select {
	case g.spare <- w:
	default:
	}
}

// Close resets all connections and ends the loops.
func (g *Generator) Close() error {
	for _, w := range g.workers {
		w.post(w.close)
	}
	for {
		select {
		case <-g.slips: // a worker may wait for room
		case err := <-g.ended:
			for _, w := range g.workers {
				w.abandon()
			}
			return err
		}
	}
}

// collector adds up what the workers of one span report.
type collector struct {
	g       *Generator
	span    span
	observe func(Span)
	running int // workers that are not through
	sum     Span
	last    int64     // of the messages
	moment  Span      // of the second in progress
	heard   int       // workers that have reported it
	open    []int     // connections that stand, by worker
	cpu     []int64   // ns at work, by worker
	most    float64   // of the second in progress, the largest share of a worker's time at work
	good    time.Time // when there was progress last
	bad     record.Failures
}

func newCollector(g *Generator, s span, observe func(Span)) *collector {
	c := &collector{g: g, span: s, observe: observe, running: len(g.workers), good: time.Now(),
		open: make([]int, len(g.workers)), cpu: make([]int64, len(g.workers)), last: s.start}
	c.sum, c.moment = c.empty(), c.empty()
	return c
}

func (c *collector) empty() (s Span) {
	for range c.g.cfg.Parts {
		s.Windows = append(s.Windows, c.g.window())
	}
	return s
}

// take adds one report.
func (c *collector) take(s slip) {
	if s.span != c.span.id {
		return
	}
	c.open[s.worker] = s.open
	c.last = max(c.last, s.last)
	c.cpu[s.worker] += s.cpu
	c.most = max(c.most, float64(s.cpu)/float64(max(s.until-s.from, 1)))
	progress := false
	for i, w := range s.windows {
		c.moment.Windows[i].Add(w)
		// To open a socket for datagrams succeeds whether anybody is there or not.
		progress = progress || w.Messages > 0 || w.Opened > 0 && !c.g.cfg.Target.Datagrams()
		c.bad.Add(&w.Errors)
		c.g.giveBack(w)
	}
	if progress || c.bad.Total() == 0 {
		c.good, c.bad = time.Now(), record.Failures{}
	}
	if c.heard++; s.final {
		c.running--
		c.sum.Elapsed = max(c.sum.Elapsed, time.Duration(s.until-c.span.start))
	}
	if c.heard >= c.running || s.final && c.running == 0 {
		c.second(time.Duration(s.until - s.from))
	}
}

// second closes the second in progress.
func (c *collector) second(d time.Duration) {
	m := c.moment
	m.Elapsed, m.Busy = d, c.most
	for _, n := range c.open {
		m.Open += n
	}
	for i, w := range m.Windows {
		c.sum.Windows[i].Add(w)
	}
	if c.observe != nil && d > 0 {
		c.observe(m)
	}
	for _, w := range m.Windows {
		c.g.giveBack(w)
	}
	c.moment, c.heard, c.most = c.empty(), 0, 0
}

// total is what the span found.
func (c *collector) total() Span {
	s := c.sum
	if c.span.end != never {
		s.Elapsed = min(s.Elapsed, time.Duration(max(c.last, c.span.end)-c.span.start))
	}
	for _, ns := range c.cpu {
		s.Busy = max(s.Busy, float64(ns)/float64(max(c.sum.Elapsed, 1)))
	}
	for _, n := range c.open {
		s.Open += n
	}
	return s
}

// stuck: for the last while all that came were failures.
func (c *collector) stuck(limit time.Duration) bool {
	return time.Since(c.good) >= limit && c.bad.Total() > 0
}

func (c *collector) noProgress(opening bool) error {
	kind := c.bad.Most()
	text := fmt.Sprintf("for %v nothing but failures: %v", time.Since(c.good).Round(time.Second/10), c.bad)
	if opening {
		open := 0
		for _, n := range c.open {
			open += n
		}
		text += fmt.Sprintf("; %d of %d connections stand", open, c.g.cfg.Connections)
	}
	if advice := kind.Advice(); advice != "" {
		text += "; " + advice
	}
	return fmt.Errorf("%w: %s", ErrNoProgress, text)
}
