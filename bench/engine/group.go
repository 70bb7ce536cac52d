package engine

import (
	"math/rand/v2"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/reactor"
)

// group has the connections of one part of the load on one loop, and gives them work.
//
// A connection that can take a piece of work calls ready. In a closed loop it gets one immediately. In an open loop it
// gets the next one of the schedule when that is due. Work that is due while no connection is ready stays in the
// schedule, and keeps the time at which it was due.
type group struct {
	w          *worker
	part       *Part
	win        *record.Window // of the current slice
	conns      []*conn
	persistent bool // connections are opened in advance, and again after a failure

	unopened   int      // conns[unopened:] have not been opened yet
	connecting int      // opened in advance, and not open yet
	standing   int      // connections that are open
	opening    schedule // when to open connections, if there is a rate
	openTimer  reactor.Timer

	pace     pace
	schedule schedule // of an open loop
	timer    reactor.Timer
	idle     idleQueue
	busy     int   // pieces of work that were given out and have not completed
	last     int64 // when the last one completed
}

// pace says when a group gives out work. These are the transitions and what causes them:
//
//	none    -> closed, open    start
//	closed  -> none            stop, quit
//	open    -> none            stop, if nothing is due; else quit
type pace uint8

const (
	paceNone   pace = iota // no work begins
	paceClosed             // in a closed loop: when a connection is ready
	paceOpen               // in an open loop: when the schedule says so
)

func newGroup(w *worker, part *Part) *group {
	g := &group{w: w, part: part, win: record.NewWindow(), persistent: part.Mode.persistent()}
	g.timer.Init((*groupTimer)(g))
	g.openTimer.Init((*groupOpener)(g))
	return g
}

// maxConnecting is how many connections of a group may connect at the same time: fewer than the backlog of a target.
const maxConnecting = 64

// openAll starts to open the connections, at rate a second if that is not 0.
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

// openNext opens the connections that may be opened now.
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

// groupOpener is a group as the handler of openTimer.
type groupOpener group

func (t *groupOpener) OnTimer(int64) {
	g := (*group)(t)
	g.openNext(g.w.loop.Clock())
	g.w.flush()
}

// opened counts an open connection, and opens the next.
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

// start begins to give out work: by the schedule in an open loop; nil means a closed loop.
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

// stop ends giving out work, except work that was due already.
func (g *group) stop() {
	if !g.hasDue() {
		g.pace = paceNone
	}
}

// quit ends giving out any work. Work that was due counts as never sent.
func (g *group) quit() {
	if g.pace == paceOpen {
		g.win.Errors[record.Unsent] += g.schedule.left()
	}
	g.pace = paceNone
	g.w.loop.StopTimer(&g.timer)
}

// hasDue reports whether the schedule of an open loop has work left.
func (g *group) hasDue() bool { return g.pace == paceOpen && g.schedule.next != never }

// isBusy reports whether work has not completed, or is due.
func (g *group) isBusy() bool { return g.busy > 0 || g.hasDue() }

// isOpening reports whether a connection is not opened yet, or connects.
func (g *group) isOpening() bool { return g.unopened < len(g.conns) || g.connecting > 0 }

// ready gives work to a connection that can take a piece, or makes it wait for work. A connection that can take several
// calls it as many times.
func (g *group) ready(c *conn, now int64) {
	switch {
	case g.pace == paceClosed:
		g.begin(c, now, now)
	case g.pace == paceOpen && g.idle.len() == 0 && g.schedule.next <= now:
		intended := g.schedule.next // it was due before a connection was ready
		g.schedule.take()
		g.begin(c, intended, now)
	default:
		g.idle.push(c)
		if g.pace == paceOpen {
			g.dispatch(now)
		}
	}
}

// dispatch gives work that is due to connections that are ready. There is a connection for it, so a delay is the
// generator's own: it is recorded as lag.
func (g *group) dispatch(now int64) {
	for g.schedule.next <= now {
		c := g.idle.pop()
		if c == nil {
			return // until ready is called
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

// groupTimer is a group as the handler of the schedule's timer.
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

// done counts n pieces of work that have completed or failed.
func (g *group) done(n int, now int64) {
	g.busy -= n
	g.last = now
	g.w.check()
}

// messageDone records a message whose reply was complete at now.
func (g *group) messageDone(intended, sent, now int64) {
	g.win.Messages++
	g.win.Latency.Record(now - intended)
	g.win.Service.Record(now - sent)
	g.done(1, now)
}

// random returns a source of random numbers for connection i, or for the group if i is negative.
func (g *group) random(i int) *rand.PCG {
	return rand.NewPCG(g.w.cfg.Seed, uint64(i)*2+uint64(g.w.index)<<40+1)
}

// idleQueue has the connections that are ready, in first-in, first-out order. An entry of a connection that was
// closed after push is skipped.
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
