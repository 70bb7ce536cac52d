package proxy

import (
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// waitQueue is where the tasks of a loop wait for something in order. What they wait for is taken for the first of them
// while it is still in the queue: so no other task gets ahead of it.
type waitQueue struct {
	places intrusive.List
	length int
}

// first returns the place of the task that has waited longest, or nil.
func (q *waitQueue) first() *place { return placeOf(q.places.First()) }

// placeOf returns the place that embeds l, or nil for nil.
func placeOf(l *intrusive.Links) *place {
	return intrusive.Owner[place](l, unsafe.Offsetof(place{}.links))
}

// place is a place in a queue: the operation state of a task that waits.
type place struct {
	links  intrusive.Links
	queue  *waitQueue
	conn   *conn
	since  int64 // places are in its order
	onStop stop.Callback
	r      sender.Receiver[struct{}]
}

// placeSender waits in a queue. See [waitQueue.wait].
type placeSender struct {
	queue *waitQueue
	at    *place
	conn  *conn
	since int64
}

// placeOp is the operation state of placeSender. All of it is in the place.
type placeOp struct{}

// wait returns a sender that completes when leave is called for its place. A stop request ends the wait.
func (q *waitQueue) wait(at *place, c *conn) placeSender { return q.waitSince(0, at, c) }

// waitSince is wait for a queue in the order of the times since when its tasks have waited.
func (q *waitQueue) waitSince(since int64, at *place, c *conn) placeSender {
	return placeSender{q, at, c, since}
}

// Connect implements [sender.Sender].
func (s placeSender) Connect(_ *placeOp, r sender.Receiver[struct{}]) sender.Operation {
	p := s.at
	p.queue, p.conn, p.since, p.r = s.queue, s.conn, s.since, r
	return p
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (placeSender) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }

// Start joins the queue behind those that have waited for as long, or longer.
func (p *place) Start() {
	before := p.queue.places.Last()
	for before != nil && placeOf(before).since > p.since {
		before = before.Prev()
	}
	p.queue.places.InsertBehind(before, &p.links)
	p.queue.length++
	p.onStop.Register(p.r.Env().StopToken(), p)
}

// OnStop implements [stop.Handler].
func (p *place) OnStop() {
	p.remove()
	p.r.SetStopped()
}

// leave ends the wait, with what came of it.
func (p *place) leave(err error) {
	p.remove()
	if err != nil {
		p.r.SetError(err)
		return
	}
	p.r.SetValue(struct{}{})
}

func (p *place) remove() {
	p.onStop.Deregister()
	p.queue.places.Remove(&p.links)
	p.queue.length--
	p.queue = nil
}
