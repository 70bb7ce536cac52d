package engine

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/reactor"
)

// Generator generates a load. Its methods are called from one goroutine.
type Generator struct {
	cfg     Config
	pattern *Pattern
	reactor *reactor.Reactor
	workers []*worker
	slips   chan slip
	spare   chan *record.Window
	spans   int
	ended   chan error // the error of the loops
}

// Phase is a load at one rate, or at a rate that changes evenly, for a time.
type Phase struct {
	Time     time.Duration
	From, To float64       // messages/s at the beginning and at the end; both 0: a closed loop
	Patience time.Duration // for outstanding replies at the end. Default: Config.Timeout
	Verify   bool          // every byte that comes back is compared
}

// Span is what was recorded in a phase, or in a second of one.
type Span struct {
	Windows []*record.Window // by part
	Elapsed time.Duration    // of a whole phase: until the last reply, if that came after its end
	Open    int              // connections that are open at its end
	Busy    float64          // the CPU share of the busiest loop, from 0 to 1

	// Longest has, for each connection of the mode hold that exchanged messages, the longest time from a message to its
	// echo. It is of a whole phase; nil in its seconds.
	Longest *record.Histogram
}

// ErrNoProgress is the error of a phase in which only failures occurred for Config.GiveUp.
var ErrNoProgress = errors.New("no progress")

// New makes a generator and starts its loops. The caller calls [Generator.Close].
func New(cfg Config) (*Generator, error) {
	if err := cfg.prepare(); err != nil {
		return nil, err
	}
	r, err := reactor.New(reactor.Config{Loops: cfg.Loops, Pin: cfg.Pin,
		Loop: reactor.LoopConfig{Ring: cfg.Ring, TimerSlack: -1, OnMisuse: notAbandoned}})
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
		g.ended <- r.Run(func(l *reactor.Loop) error {
			for _, w := range g.workers {
				if w.loop == l {
					if cfg.Beside != nil {
						cfg.Beside(l)
					}
					w.init()
				}
			}
			return nil
		})
	}()
	return g, nil
}

// distribute makes the connections of each part, and distributes them over the workers round-robin.
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

// Choice returns which ring the loops have, and why.
func (g *Generator) Choice() reactor.RingChoice { return g.workers[0].loop.RingChoice() }

// Connections returns the number of connections of all parts.
func (g *Generator) Connections() int { return g.cfg.Connections }

// Open opens the connections of the modes that keep them open.
func (g *Generator) Open(ctx context.Context, observe func(Span)) (Span, error) {
	return g.run(ctx, span{opening: true, end: never}, observe)
}

// Run generates the load of a phase. It calls observe, if not nil, for every second. When ctx ends, or when only
// failures occur, it returns an error together with what was recorded until then.
func (g *Generator) Run(ctx context.Context, p Phase, observe func(Span)) (Span, error) {
	s := span{from: p.From, to: p.To, patience: p.Patience, verify: p.Verify}
	if s.patience <= 0 {
		s.patience = g.cfg.Timeout
	}
	s.end = int64(p.Time)
	return g.run(ctx, s, observe)
}

// lead is the time between the call and the beginning of a span, so that all workers can begin together.
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

// halt ends the current span.
func (g *Generator) halt() {
	for _, w := range g.workers {
		w.post(w.halt)
	}
}

// window returns an empty window. It may be called from any thread.
func (g *Generator) window() *record.Window {
	select {
	case w := <-g.spare:
		return w
	default:
		return record.NewWindow()
	}
}

// giveBack makes a window available to [Generator.window].
func (g *Generator) giveBack(w *record.Window) {
	w.Reset()
	select {
	case g.spare <- w:
	default:
	}
}

// Close resets all connections and stops the loops.
func (g *Generator) Close() error {
	for _, w := range g.workers {
		w.post(w.close)
	}
	for {
		select {
		case <-g.slips: // a worker may wait for room in the channel
		case err := <-g.ended:
			for _, w := range g.workers {
				w.abandon()
			}
			return err
		}
	}
}

// collector adds up the reports of the workers of one span.
type collector struct {
	g       *Generator
	span    span
	observe func(Span)
	running int // workers that have not finished
	sum     Span
	last    int64     // when the last message completed
	moment  Span      // of the current second
	heard   int       // workers that have reported the current second
	open    []int     // open connections, by worker
	cpu     []int64   // CPU time in ns, by worker
	most    float64   // the CPU share of the busiest worker in the current second
	good    time.Time // the last time when there was progress
	bad     record.Failures
}

func newCollector(g *Generator, s span, observe func(Span)) *collector {
	c := &collector{g: g, span: s, observe: observe, running: len(g.workers), good: time.Now(),
		open: make([]int, len(g.workers)), cpu: make([]int64, len(g.workers)), last: s.start}
	c.sum, c.moment = c.empty(), c.empty()
	c.sum.Longest = record.NewHistogram()
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
		// Opening a socket for datagrams succeeds even if there is no server.
		progress = progress || w.Messages > 0 || w.Opened > 0 && !c.g.cfg.Target.Datagrams()
		c.bad.Add(&w.Errors)
		c.g.giveBack(w)
	}
	if progress || c.bad.Total() == 0 {
		c.good, c.bad = time.Now(), record.Failures{}
	}
	if c.heard++; s.final {
		c.running--
		c.sum.Longest.Add(s.longest)
		c.sum.Elapsed = max(c.sum.Elapsed, time.Duration(s.until-c.span.start))
	}
	if c.heard >= c.running || s.final && c.running == 0 {
		c.second(time.Duration(s.until - s.from))
	}
}

// second ends the current second.
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

// total returns what was recorded in the span.
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

// stuck reports whether only failures occurred for the time limit.
func (c *collector) stuck(limit time.Duration) bool {
	return time.Since(c.good) >= limit && c.bad.Total() > 0
}

func (c *collector) noProgress(opening bool) error {
	kind := c.bad.Most()
	text := fmt.Sprintf("only failures for %v: %v", time.Since(c.good).Round(time.Second/10), c.bad)
	if opening {
		open := 0
		for _, n := range c.open {
			open += n
		}
		text += fmt.Sprintf("; %d of %d connections are open", open, c.g.cfg.Connections)
	}
	if advice := kind.Advice(); advice != "" {
		text += "; " + advice
	}
	return fmt.Errorf("%w: %s", ErrNoProgress, text)
}

// notAbandoned logs a misuse of the loops other than connections that are open at their end: see worker.abandon.
func notAbandoned(err error) {
	if !errors.Is(err, reactor.ErrNotClosed) {
		log.Print(err)
	}
}
