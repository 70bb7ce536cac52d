//go:build linux

package reactor

import (
	"sync/atomic"
	"time"
)

// counts are the counters of a loop, which only its thread accesses.
type counts struct {
	completions, enters, cancels, posts, timers, stale uint64
	bufferWaits                                        uint64 // receives that found no buffer
	leaked                                             int
}

// sharedCounts are the counters of a loop that any thread may read. The loop stores them once a turn. Reading takes no
// lock and does not disturb the loop.
type sharedCounts struct {
	_           [64]byte // a cache line of their own
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
	Completions uint64 // completions taken from the ring
	Enters      uint64 // times the ring was entered
	Cancels     uint64 // cancel entries submitted
	Posts       uint64 // work taken from other threads
	Timers      uint64 // timers expired
	Stale       uint64 // completions of operations that had completed: always 0, or there is a bug
	BufferWaits uint64 // receives that found no buffer and had to wait for one
	// Busy is for how long the loop could not serve anything else since Run began: the CPU time of its thread, in the
	// kernel too, and what turns of a millisecond or more took beyond that, because a callback blocked or the thread
	// waited for a CPU.
	Busy        time.Duration
	Waiting     time.Duration // the rest of the time since then: asleep, or waiting for a CPU in a short turn
	LongestTurn time.Duration // the longest time that the loop has run callbacks without looking for completions
	InFlight    int           // operations started and not completed
	Leaked      int           // operations that never completed, after a drain that took too long
	BufferBytes int64         // bytes of receive buffers in the ring
	LeasedBytes int64         // bytes of receive buffers leased to receivers
	Descriptors int           // descriptors that belong to a Descriptor of the loop, closing ones not included
}

// publish stores the counts that have changed. An atomic store costs as much as ten plain ones, so a count that rarely
// changes is compared first.
func (l *Loop) publish() {
	s, c := &l.shared, &l.count
	s.completions.Store(c.completions)
	s.enters.Store(c.enters)
	store(&s.inFlight, int64(l.slots.used))
	store(&s.bufferBytes, l.bufferBytes())
	store(&s.leasedBytes, l.leasedBytes())
	if rare := c.cancels + c.posts + c.timers + c.stale + c.bufferWaits + uint64(c.leaked); rare != l.published {
		l.published = rare
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
// How close a loop is to its limit is the growth of Busy divided by that of Busy plus Waiting. The kernel's worker
// threads of the ring and the worker threads of [Offload] are not in it.
func (l *Loop) Stats() Stats {
	s := &l.shared
	busy, waiting := l.readCPU()
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
		LongestTurn: time.Duration(l.turns.longest.Load()),
		InFlight:    int(s.inFlight.Load()),
		Leaked:      int(s.leaked.Load()),
		BufferBytes: s.bufferBytes.Load(),
		LeasedBytes: s.leasedBytes.Load(),
		Descriptors: l.owned.count(),
	}
}
