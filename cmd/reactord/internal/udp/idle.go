package udp

import (
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/reactor"
)

// idle is the sessions of a listener, in the order of their last datagram, and the one timer that ends those that have
// been idle for too long. There is a queue for each Settings, which is one but for reloads: in a queue, sessions become
// idle in its order.
type idle struct {
	listener *Listener
	queues   []*queue
	timer    reactor.Timer
}

// queue is the sessions with the same settings.
type queue struct {
	settings *Settings
	list     intrusive.List // the one whose last datagram is the oldest is first
}

func sessionOf(l *intrusive.Links) *Session {
	return intrusive.Owner[Session](l, unsafe.Offsetof(Session{}.links))
}

func (i *idle) init(l *Listener) {
	i.listener = l
	i.timer.Init(i)
}

func (i *idle) stop() { i.listener.Loop.StopTimer(&i.timer) }

// add adds a session that begins.
func (i *idle) add(s *Session) {
	at := slices.IndexFunc(i.queues, func(q *queue) bool { return q.settings == s.settings })
	if at < 0 {
		i.queues = append(i.queues, &queue{settings: s.settings})
		at = len(i.queues) - 1
	}
	s.queue = i.queues[at]
	s.active = i.listener.time()
	s.queue.list.PushBack(&s.links)
	if !i.timer.Pending() {
		i.set()
	}
}

// touch notes that a datagram has come. The timer is not moved.
func (s *Session) touch() {
	s.active = s.listener.time()
	if q := s.queue; q != nil && s.links.Next() != nil {
		q.list.Remove(&s.links)
		q.list.PushBack(&s.links)
	}
}

// remove removes a session that ends.
func (i *idle) remove(s *Session) {
	q := s.queue
	if q == nil {
		return
	}
	s.queue = nil
	if q.list.Remove(&s.links); q.list.Empty() {
		i.queues = slices.DeleteFunc(i.queues, func(other *queue) bool { return other == q })
	}
}

// each calls f for all sessions, which may end them.
func (i *idle) each(f func(*Session)) {
	for _, q := range slices.Clone(i.queues) {
		for l := q.list.First(); l != nil; {
			next := l.Next()
			f(sessionOf(l))
			l = next
		}
	}
}

// patience is how long the sessions of a queue may be idle.
func (i *idle) patience(q *queue) int64 {
	d := q.settings.Idle
	if d <= 0 {
		return math.MaxInt64 / 2
	}
	if scale := i.listener.Patience; scale != nil {
		d = scale(d)
	}
	return int64(d)
}

// idleTurn is how many sessions end in a turn of the loop because they are idle.
const idleTurn = 256

// idleStep is how often the timer expires at most.
const idleStep = int64(time.Millisecond)

// OnTimer ends the sessions that have been idle for too long, and sets the timer.
func (i *idle) OnTimer(int64) {
	now, left := i.listener.time(), idleTurn
	for _, q := range slices.Clone(i.queues) {
		for patience := i.patience(q); left > 0 && !q.list.Empty(); left-- {
			s := sessionOf(q.list.First())
			if s.active+patience > now {
				break
			}
			s.End(WhyIdle)
		}
	}
	i.set()
}

// set sets the timer to when the first session will have been idle for too long.
func (i *idle) set() {
	at := int64(math.MaxInt64)
	for _, q := range i.queues {
		if !q.list.Empty() {
			at = min(at, sessionOf(q.list.First()).active+i.patience(q))
		}
	}
	if at < math.MaxInt64/2 {
		l := i.listener.Loop
		l.SetTimer(&i.timer, max(at+l.Stalled(), l.Now()+idleStep))
	}
}
