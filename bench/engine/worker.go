package engine

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
)

// worker is one loop of the generator. It has one group for each part of the load. Its methods are called on the
// loop's thread.
type worker struct {
	g         *Generator
	cfg       *Config
	loop      *reactor.Loop
	index     int
	groups    []*group
	sockaddr  unix.Sockaddr
	datagrams bool
	source    int     // index of the source address that was used last
	dirty     []*conn // connections with bytes to send
	batched   bool    // the ring takes completions only between two turns
	verify    bool    // every byte that comes back is compared
	clear     []byte  // decrypted bytes, of the connection that receives

	phase   workerPhase
	span    span  // in the phases opening, running and draining
	slice   int64 // when the current slice of the record began
	cpu     int64 // the thread's CPU time at that moment, in ns
	starter reactor.Timer
	tick    reactor.Timer
	end     reactor.Timer
	sweep   reactor.Timer
}

// workerPhase is what a worker does. These are the transitions and what causes them:
//
//	idle      -> opening    begin, for a span that opens connections
//	          -> running    begin, for a span with load
//	opening   -> idle       finish: every connection has been open, or halt
//	running   -> draining   drain: the end of the span is reached
//	          -> idle       finish, by halt
//	draining  -> idle       finish: nothing is outstanding, patience has run out, or halt
//	any       -> stopped    close
type workerPhase uint8

const (
	phaseIdle workerPhase = iota
	phaseOpening
	phaseRunning
	phaseDraining
	phaseStopped
)

// span is a phase as a worker runs it. Times are of the clock that all loops share.
type span struct {
	id       int // 0: none
	opening  bool
	start    int64
	end      int64 // never: at halt
	from, to float64
	patience time.Duration // for outstanding replies at the end
	verify   bool
}

// slip is a report of a worker, once a second and at the end of a span.
type slip struct {
	span    int
	worker  int
	from    int64
	until   int64
	last    int64            // when the last message completed
	windows []*record.Window // by part; they belong to the reader of the report
	open    int              // open connections
	cpu     int64            // CPU time of the thread in ns
	final   bool
	longest *record.Histogram // of a final report: see Span.Longest
}

func (w *worker) init() {
	w.starter.Init((*workerStart)(w))
	w.tick.Init((*workerTick)(w))
	w.end.Init((*workerEnd)(w))
	w.sweep.Init((*workerSweep)(w))
	w.batched = w.loop.Caps().Setup&uring.SetupDeferTaskrun != 0
	if w.cfg.TLS != nil {
		w.clear = make([]byte, 16<<10) // a record, see RFC 8446, 5.1
	}
	// By default a timer of this thread may be late by 50 µs. See prctl(2), PR_SET_TIMERSLACK.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	w.loop.SetTimer(&w.sweep, w.loop.Clock()+int64(w.sweepEvery()))
}

// begin prepares a span, and sets the timer that starts it.
func (w *worker) begin(s span) {
	w.phase = phaseRunning
	if s.opening {
		w.phase = phaseOpening
	}
	w.span, w.slice, w.cpu = s, s.start, threadTime()
	w.verify = w.cfg.Verify || s.verify
	w.loop.SetTimer(&w.starter, s.start)
}

// workerStart is a worker as the handler of the timer starter.
type workerStart worker

func (t *workerStart) OnTimer(int64) {
	w := (*worker)(t)
	s, now := w.span, w.loop.Clock()
	w.loop.SetTimer(&w.tick, s.start+int64(time.Second))
	if s.end != never {
		w.loop.SetTimer(&w.end, s.end)
	}
	for _, g := range w.groups {
		if w.phase == phaseOpening {
			g.openAll(now, w.cfg.ConnectRate*float64(len(g.conns))/float64(w.cfg.Connections))
			continue
		}
		if s.from == 0 && s.to == 0 {
			g.start(nil, now)
			continue
		}
		part := g.portion()
		offset := float64(w.index) / float64(len(w.g.workers))
		plan := newSchedule(s.start, time.Duration(s.end-s.start), s.from*part, s.to*part, offset, nil)
		if w.cfg.Poisson {
			plan = newSchedule(s.start, time.Duration(s.end-s.start), s.from*part, s.to*part, 0, g.random(-s.id))
		}
		g.start(&plan, now)
	}
	w.flush()
	w.check()
}

// portion returns the group's share of the rate. Without numbers of connections in the parts, it is the share of its
// connections among all. Otherwise it is the part's weight times the share among the connections of the part.
func (g *group) portion() float64 {
	if p := g.part; p.Connections > 0 {
		return p.Weight / g.w.cfg.weight() * float64(len(g.conns)) / float64(p.Connections)
	}
	return float64(len(g.conns)) / float64(g.w.cfg.Connections)
}

// check ends the span if nothing is left to wait for.
func (w *worker) check() {
	var waits func(*group) bool
	switch w.phase {
	case phaseOpening:
		waits = (*group).isOpening
	case phaseDraining:
		waits = (*group).isBusy
	default:
		return
	}
	if !slices.ContainsFunc(w.groups, waits) {
		w.finish()
	}
}

// workerEnd is a worker as the handler of the timer end: of the span, and then of its patience.
type workerEnd worker

func (t *workerEnd) OnTimer(int64) {
	w := (*worker)(t)
	if w.phase == phaseRunning {
		w.drain()
		return
	}
	for _, g := range w.groups { // patience has run out
		for _, c := range g.conns {
			if g.busy > 0 && c.state == connOpen && c.since != 0 {
				c.session.overdue()
			}
		}
	}
	w.finish()
}

// drain starts no new work, and waits for outstanding replies.
func (w *worker) drain() {
	w.phase = phaseDraining
	for _, g := range w.groups {
		g.stop()
	}
	w.loop.SetTimer(&w.end, w.loop.Clock()+int64(w.span.patience))
	w.check()
}

// halt ends the span now. Outstanding work is not counted.
func (w *worker) halt() {
	if w.phase == phaseIdle || w.phase == phaseStopped {
		return
	}
	for _, g := range w.groups {
		g.pace = paceNone
	}
	w.finish()
}

// finish reports the end of the span.
func (w *worker) finish() {
	w.loop.StopTimer(&w.starter)
	w.loop.StopTimer(&w.tick)
	w.loop.StopTimer(&w.end)
	for _, g := range w.groups {
		g.quit()
	}
	w.report(true)
	w.phase, w.span = phaseIdle, span{}
}

// report sends what was recorded since the last report.
func (w *worker) report(final bool) {
	now := w.loop.Clock()
	s := slip{span: w.span.id, worker: w.index, from: w.slice, until: now, final: final}
	cpu := threadTime()
	s.cpu = cpu - w.cpu
	w.slice, w.cpu = now, cpu
	for _, g := range w.groups {
		s.windows = append(s.windows, g.win)
		s.open += g.standing
		s.last = max(s.last, g.last)
		g.win = w.g.window()
	}
	if final {
		s.longest = w.takeLongest()
	}
	w.g.slips <- s
}

// takeLongest returns the longest time of each connection that had one, and begins anew.
func (w *worker) takeLongest() *record.Histogram {
	h := record.NewHistogram()
	for _, g := range w.groups {
		for _, c := range g.conns {
			if c.longest > 0 {
				h.Record(c.longest)
				c.longest = 0
			}
		}
	}
	return h
}

// threadTime returns the CPU time of the calling thread in ns. See clock_gettime(2).
func threadTime() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return ts.Nano()
}

// workerTick is a worker as the handler of the timer tick, once a second.
type workerTick worker

func (t *workerTick) OnTimer(int64) {
	w := (*worker)(t)
	w.report(false)
	passed := (w.slice - w.span.start) / int64(time.Second)
	w.loop.SetTimer(&w.tick, w.span.start+(passed+1)*int64(time.Second))
}

// sweepEvery returns the time between two searches for timeouts.
func (w *worker) sweepEvery() time.Duration {
	return min(max(w.cfg.Timeout/20, time.Millisecond), 100*time.Millisecond)
}

// workerSweep is a worker as the handler of the timer sweep, which finds connections that have waited too long.
type workerSweep worker

func (t *workerSweep) OnTimer(int64) {
	w := (*worker)(t)
	now := w.loop.Clock()
	for _, g := range w.groups {
		for _, c := range g.conns {
			if c.since == 0 || now-c.since < int64(w.cfg.Timeout) {
				continue
			}
			if c.state == connConnecting {
				c.fail(record.Timeout)
			} else {
				c.session.overdue()
			}
		}
	}
	w.loop.SetTimer(&w.sweep, now+int64(w.sweepEvery()))
	w.flush()
}

// flush sends the queues of the connections in dirty.
func (w *worker) flush() {
	for _, c := range w.dirty {
		c.dirty = false
		c.flush()
	}
	w.dirty = w.dirty[:0]
}

// close stops the loop, which cancels all operations in flight.
func (w *worker) close() {
	w.phase = phaseStopped
	for _, g := range w.groups {
		g.quit()
	}
	w.loop.Stop()
}

// abandon resets the connections that are still open. It is called after the loop has ended: closing many thousands of
// connections on the ring would cost a search through all of them for each one.
func (w *worker) abandon() {
	for _, g := range w.groups {
		for _, c := range g.conns {
			if c.live() {
				_ = c.socket.SetAbort()
				unix.Close(c.socket.Fd())
			}
		}
	}
}

// post runs f on the worker's thread, unless the loop has ended.
func (w *worker) post(f func()) {
	p := &posted{f: f}
	p.work.Runner = p
	w.loop.Enqueue(&p.work)
}

type posted struct {
	work sender.Work
	f    func()
}

func (p *posted) Run()          { p.f() }
func (p *posted) Abandon(error) {}
