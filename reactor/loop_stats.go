package reactor

import (
	"sync/atomic"
	"time"
)

// counts are what a loop counts as it goes. Only its thread touches them.
type counts struct {
	completions, enters, cancels, posts, timers, stale uint64
	bufferWaits                                        uint64 // receives that found no buffer
	leaked                                             int
}

// counters are a loop's counts for others to read. The loop stores them once a turn; reading takes no
// lock and disturbs nobody.
type counters struct {
	_           [64]byte // nobody else's cache line
	completions atomic.Uint64
	enters      atomic.Uint64
	cancels     atomic.Uint64
	posts       atomic.Uint64
	timers      atomic.Uint64
	stale       atomic.Uint64
	bufferWaits atomic.Uint64
	inFlight    atomic.Int64
	leaked      atomic.Int64
	bufferBytes atomic.Int64
	leasedBytes atomic.Int64
	_           [64]byte
}

// Stats is a reading of a loop's counters.
type Stats struct {
	Completions uint64        // completions taken from the ring
	Enters      uint64        // times the ring was entered
	Cancels     uint64        // cancel entries submitted
	Posts       uint64        // work taken from other threads
	Timers      uint64        // timers expired
	Stale       uint64        // completions of operations that were over: always 0, or there is a bug
	BufferWaits uint64        // receives that found no buffer and had to wait for one
	Busy        time.Duration // CPU time of the loop's thread since Run began, in the kernel too, but not of other threads
	Waiting     time.Duration // the rest of the time since then: asleep, or waiting for a CPU
	InFlight    int           // operations started and not completed
	Leaked      int           // operations that never completed, after a drain that ran out of time
	BufferBytes int64         // bytes of receive buffers kept in the ring
	LeasedBytes int64         // bytes of receive buffers lent to receivers
}

// publish stores the counts that have changed. A store that others can see costs as much as ten that they
// cannot, so what mostly stays as it is is compared first.
func (l *Loop) publish() {
	s, c := &l.shared, &l.count
	s.completions.Store(c.completions)
	s.enters.Store(c.enters)
	store(&s.inFlight, int64(l.slots.used))
	store(&s.bufferBytes, int64(l.buffers.inRing)*int64(l.buffers.size))
	store(&s.leasedBytes, l.buffers.leasedBytes())
	if seldom := c.cancels + c.posts + c.timers + c.stale + c.bufferWaits + uint64(c.leaked); seldom != l.published {
		l.published = seldom
		s.cancels.Store(c.cancels)
		s.posts.Store(c.posts)
		s.timers.Store(c.timers)
		s.stale.Store(c.stale)
		s.bufferWaits.Store(c.bufferWaits)
		s.leaked.Store(int64(c.leaked))
	}
}

func store(a *atomic.Int64, v int64) {
	if a.Load() != v {
		a.Store(v)
	}
}

// Stats reads the loop's counters, and the clock of its thread, which is a system call. From any thread.
//
// How close a loop is to its limit is the growth of Busy by that of Busy and Waiting. The kernel's worker threads of
// the ring and the goroutines of Offload are not in it.
func (l *Loop) Stats() Stats {
	s := &l.shared
	busy, waiting := l.cpu.read(l.sys)
	return Stats{
		Completions: s.completions.Load(),
		Enters:      s.enters.Load(),
		Cancels:     s.cancels.Load(),
		Posts:       s.posts.Load(),
		Timers:      s.timers.Load(),
		Stale:       s.stale.Load(),
		BufferWaits: s.bufferWaits.Load(),
		Busy:        busy,
		Waiting:     waiting,
		InFlight:    int(s.inFlight.Load()),
		Leaked:      int(s.leaked.Load()),
		BufferBytes: s.bufferBytes.Load(),
		LeasedBytes: s.leasedBytes.Load(),
	}
}
