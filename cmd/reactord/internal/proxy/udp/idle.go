package udp

import (
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/reactor"
)

// idleQueues is the sessions of a listener, in the order of their last datagram, and the one timer that ends those that
// have been idle for too long. There are two queues for equal Settings, which are one but for reloads: sessions become
// idle in the order of a queue. Those that no client has confirmed make room for others: see [Listener.EndOldest].
type idleQueues struct {
	listener *Listener
	queues   []*idleQueue
	timer    reactor.Timer
}

// idleQueue is the sessions with the same settings, confirmed or not.
type idleQueue struct {
	settings  *Settings
	confirmed bool
	list      intrusive.List // the one whose last datagram is the oldest is first
}

func sessionOf(l *intrusive.Links) *Session {
	return intrusive.Owner[Session](l, unsafe.Offsetof(Session{}.links))
}

func (i *idleQueues) init(l *Listener) {
	i.listener = l
	i.timer.Init(i)
}

func (i *idleQueues) stop() { i.listener.Loop.StopTimer(&i.timer) }

// add adds a session that begins, or that is confirmed.
func (i *idleQueues) add(s *Session) {
	s.active = i.listener.time()
	i.insert(s)
}

// insert adds a session that was idle before, behind all others: it may be idle for up to twice as long.
func (i *idleQueues) insert(s *Session) {
	at := slices.IndexFunc(i.queues, func(q *idleQueue) bool {
		return *q.settings == *s.settings && q.confirmed == s.confirmed
	})
	if at < 0 {
		i.queues = append(i.queues, &idleQueue{settings: s.settings, confirmed: s.confirmed})
		at = len(i.queues) - 1
	}
	s.queue = i.queues[at]
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

// confirm notes that the client has sent a datagram after an answer, as one that has seen it does. An address that is
// forged only once does not.
func (s *Session) confirm() {
	i, waits := &s.listener.idle, s.queue != nil
	i.remove(s)
	if s.confirmed = true; waits {
		i.add(s)
	}
}

// EndOldest ends the session whose last datagram is the oldest, of those that no client has confirmed. It reports
// whether there is one. The room of the session is free when its socket is closed.
func (l *Listener) EndOldest() bool {
	for _, q := range l.idle.queues {
		if !q.confirmed { // and has sessions
			sessionOf(q.list.First()).End(WhyIdle)
			return true
		}
	}
	return false
}

// remove removes a session that ends, or that is confirmed.
func (i *idleQueues) remove(s *Session) {
	q := s.queue
	if q == nil {
		return
	}
	s.queue = nil
	if q.list.Remove(&s.links); q.list.Empty() {
		i.queues = slices.DeleteFunc(i.queues, func(other *idleQueue) bool { return other == q })
	}
}

// each calls f for all sessions, which may end them.
func (i *idleQueues) each(f func(*Session)) {
	for _, q := range slices.Clone(i.queues) {
		for l := q.list.First(); l != nil; {
			next := l.Next()
			f(sessionOf(l))
			l = next
		}
	}
}

// patience returns how long the sessions of a queue may be idle.
func (i *idleQueues) patience(q *idleQueue) int64 {
	d := q.settings.Idle
	if d <= 0 {
		return math.MaxInt64 / 2
	}
	if scale := i.listener.Patience; scale != nil {
		d = scale(d)
	}
	return int64(d)
}

// idleTurn bounds the idle sessions that end in a turn of the loop.
const idleTurn = 256

// idleStep is the least time between two expirations of the timer.
const idleStep = int64(time.Millisecond)

// OnTimer ends the sessions that have been idle for too long, and sets the timer.
func (i *idleQueues) OnTimer(int64) {
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
func (i *idleQueues) set() {
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
