//go:build linux

package server

import (
	"time"
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/reactor"
)

// stamp puts the structure that embeds it into a queue of one kind of deadline, and records since when it is there.
type stamp struct {
	links intrusive.Links
	since int64 // 0 if it is in no queue
}

// queue holds what waits for one kind of deadline. All wait for the same time, so the first one is due first: adding,
// moving and removing take a few pointers, and one timer of the loop serves all.
type queue struct {
	list  intrusive.List
	after int64 // ns; 0 without such a deadline
	slack int64 // ns: a stamp that is younger is not moved, and is due that much later
	timer *deadlineTimer
}

func (q *queue) init(t *deadlineTimer, after time.Duration) {
	q.after, q.timer = max(int64(after), 0), t
	t.queues = append(t.queues, q)
}

// begin lets s wait from now on, if it does not yet.
func (q *queue) begin(s *stamp) {
	if q.after != 0 && s.since == 0 {
		q.add(s)
	}
}

// add puts s into the queue, also without such a deadline.
func (q *queue) add(s *stamp) {
	s.since = q.timer.clock()
	first := q.list.Empty()
	if q.list.PushBack(&s.links); first && q.after != 0 {
		q.timer.arm(s.since + q.after + q.slack)
	}
}

// again lets s wait from now on, if it waits.
func (q *queue) again(s *stamp) {
	if s.since != 0 && q.timer.clock()-s.since > q.slack {
		q.list.Remove(&s.links)
		s.since = q.timer.clock()
		q.list.PushBack(&s.links)
	}
}

// end lets s wait no more.
func (q *queue) end(s *stamp) {
	if s.since != 0 {
		s.since = 0
		q.list.Remove(&s.links)
	}
}

func (q *queue) first() *stamp { return stampOf(q.list.First()) }

func stampOf(l *intrusive.Links) *stamp {
	return intrusive.Owner[stamp](l, unsafe.Offsetof(stamp{}.links))
}

// takeDue removes and returns a stamp whose time has come, or returns nil.
func (q *queue) takeDue() *stamp {
	s := q.first()
	if s == nil || q.after == 0 || s.since+q.after+q.slack > q.timer.clock() {
		return nil
	}
	q.end(s)
	return s
}

// deadlineTimer is the one timer of the queues of a loop. Their clock is the loop's without the time in which the loop
// could not see what peers did.
type deadlineTimer struct {
	loop   *reactor.Loop
	timer  reactor.Timer
	queues []*queue
}

func (t *deadlineTimer) clock() int64 { return t.loop.Now() - t.loop.Stalled() }

// arm makes the timer expire at a time of clock, or earlier.
func (t *deadlineTimer) arm(at int64) {
	at += t.loop.Stalled()
	if !t.timer.Pending() || t.timer.Deadline() > at {
		t.loop.SetTimer(&t.timer, at)
	}
}

// armNext makes the timer expire when the next stamp is due.
func (t *deadlineTimer) armNext() {
	for _, q := range t.queues {
		if s := q.first(); s != nil && q.after != 0 {
			t.arm(s.since + q.after + q.slack)
		}
	}
}
