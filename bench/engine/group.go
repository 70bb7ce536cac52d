package engine

import (
	"math/rand/v2"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/reactor"
)

// group is the connections of one part of the load on one loop, and what paces them.
//
// A connection that can take a piece of work says so by ready. In a closed loop it gets one at once; in
// an open loop it gets the next of the schedule once that is due. What is due while no connection is
// ready stays in the schedule, and keeps its time.
type group struct {
	w          *worker
	part       *Part
	win        *record.Window // of the span in progress
	conns      []*conn
	persistent bool // connections are opened in advance, and again when they are lost

	unopened   int // conns[unopened:] have not been opened yet
	connecting int // opened in advance, and not standing yet
	standing   int
	opening    schedule // of opening, if that has a rate
	openTimer  reactor.Timer

	pace     pace
	schedule schedule // of an open loop
	timer    reactor.Timer
	idle     idleQueue
	busy     int   // pieces of work that have begun and have not ended
	last     int64 // when the last one ended
}

// pace is when a group gives out work.
//
//	none    -> closed, open    start
//	closed  -> none            stop, quit
//	open    -> none            stop, if nothing is due any more; else quit
type pace uint8

const (
	paceNone   pace = iota // no work begins
	paceClosed             // in a closed loop: as soon as a connection is ready
	paceOpen               // in an open loop: when the schedule says
)

func newGroup(w *worker, part *Part) *group {
	g := &group{w: w, part: part, win: record.NewWindow(), persistent: part.Mode.persistent()}
	g.timer.Init((*groupTimer)(g))
	g.openTimer.Init((*groupOpener)(g))
	return g
}

// maxConnecting is how many connections a group opens at once, fewer than any target's backlog.
const maxConnecting = 64

// openAll begins to open the connections, at rate a second if that is not 0.
func (g *group) openAll(now int64, rate float64) {
	if !g.persistent {
		for _, c := range g.conns {
			g.ready(c, now)
		}
		g.unopened = len(g.conns)
		return
	}
	g.opening = schedule{next: now}
	if rate > 0 {
		g.opening = newSchedule(now, 1<<62, rate, rate, 0, nil)
	}
	g.openNext(now)
}

// openNext opens as many connections as may be opened now.
func (g *group) openNext(now int64) {
	for g.unopened < len(g.conns) && g.connecting < maxConnecting {
		if g.opening.next > now {
			g.w.loop.SetTimer(&g.openTimer, g.opening.next)
			return
		}
		if g.opening.from > 0 {
			g.opening.take()
		}
		g.connecting++
		g.unopened++
		g.conns[g.unopened-1].open()
	}
}

// groupOpener is a group as the handler of the timer of its opening.
type groupOpener group

func (t *groupOpener) OnTimer(int64) {
	g := (*group)(t)
	g.openNext(g.w.loop.Clock())
	g.w.flush()
}

// opened is called when a connection has come to stand.
func (g *group) opened(c *conn) {
	g.standing++
	if !g.persistent || c.stood {
		return
	}
	c.stood = true
	g.connecting--
	g.openNext(c.clock())
	g.w.check()
}

func (g *group) wasClosed() { g.standing-- }

// start gives out work. The schedule is of an open loop; nil: the loop is closed.
func (g *group) start(s *schedule, now int64) {
	g.last = now
	if s != nil {
		g.pace, g.schedule = paceOpen, *s
		g.dispatch(now)
		return
	}
	g.pace = paceClosed
	for c := g.idle.pop(); c != nil; c = g.idle.pop() {
		g.begin(c, now, now)
	}
}

// stop gives out no more work, except the work that was due before and could not be given yet.
func (g *group) stop() {
	if !g.hasDue() {
		g.pace = paceNone
	}
}

// quit gives out no more work at all. Work that was due is counted as never sent.
func (g *group) quit() {
	if g.pace == paceOpen {
		g.win.Errors[record.Unsent] += g.schedule.left()
	}
	g.pace = paceNone
	g.w.loop.StopTimer(&g.timer)
}

// hasDue: the schedule of an open loop has work left.
func (g *group) hasDue() bool { return g.pace == paceOpen && g.schedule.next != never }

// isBusy: work is under way, or due.
func (g *group) isBusy() bool { return g.busy > 0 || g.hasDue() }

// isOpening: a connection is still to be opened, or connects.
func (g *group) isOpening() bool { return g.unopened < len(g.conns) || g.connecting > 0 }

// ready is called when a connection can take a piece of work; one that can take several calls it
// as many times.
func (g *group) ready(c *conn, now int64) {
	switch {
	case g.pace == paceClosed:
		g.begin(c, now, now)
	case g.pace == paceOpen && g.idle.len() == 0 && g.schedule.next <= now:
		intended := g.schedule.next // it has waited for a connection
		g.schedule.take()
		g.begin(c, intended, now)
	default:
		g.idle.push(c)
		if g.pace == paceOpen {
			g.dispatch(now)
		}
	}
}

// dispatch gives what is due to connections that are ready. Both are there, so that any delay is the
// generator's own.
func (g *group) dispatch(now int64) {
	for g.schedule.next <= now {
		c := g.idle.pop()
		if c == nil {
			return // ready continues
		}
		intended := g.schedule.next
		g.schedule.take()
		now = g.w.loop.Clock()
		g.win.Lag.Record(now - intended)
		g.begin(c, intended, now)
	}
	if g.schedule.next != never && g.idle.len() != 0 {
		g.w.loop.SetTimer(&g.timer, g.schedule.next)
	}
}

// groupTimer is a group as the handler of its schedule's timer.
type groupTimer group

func (t *groupTimer) OnTimer(int64) {
	g := (*group)(t)
	if g.pace == paceOpen {
		g.dispatch(g.w.loop.Clock())
	}
	g.w.flush()
	g.w.check()
}

func (g *group) begin(c *conn, intended, now int64) {
	g.busy++
	g.win.Sent++
	c.session.begin(intended, now)
}

// done is called when n pieces of work are over, well or not.
func (g *group) done(n int, now int64) {
	g.busy -= n
	g.last = now
	g.w.check()
}

// messageDone records a message that came back whole at now.
func (g *group) messageDone(intended, sent, now int64) {
	g.win.Messages++
	g.win.Latency.Record(now - intended)
	g.win.Service.Record(now - sent)
	g.done(1, now)
}

// random is a source of random numbers for connection i, or for the group if that is negative.
func (g *group) random(i int) *rand.PCG {
	return rand.NewPCG(g.w.cfg.Seed, uint64(i)*2+uint64(g.w.index)<<40+1)
}

// idleQueue is the connections that are ready, first come first served. Those that have been closed
// since are passed over.
type idleQueue struct {
	ring  []idleEntry // its length is a power of two
	first int
	n     int
}

type idleEntry struct {
	c    *conn
	life uint32
}

func (q *idleQueue) len() int { return q.n }

func (q *idleQueue) push(c *conn) {
	if q.n == len(q.ring) {
		grown := make([]idleEntry, max(2*len(q.ring), 16))
		for i := range q.n {
			grown[i] = q.ring[(q.first+i)&(len(q.ring)-1)]
		}
		q.ring, q.first = grown, 0
	}
	q.ring[(q.first+q.n)&(len(q.ring)-1)] = idleEntry{c, c.life}
	q.n++
}

func (q *idleQueue) pop() *conn {
	for q.n > 0 {
		e := q.ring[q.first]
		q.first = (q.first + 1) & (len(q.ring) - 1)
		q.n--
		if e.life == e.c.life && e.c.state != connClosing {
			return e.c
		}
	}
	return nil
}
