//go:build linux

package reactor

import (
	"sync/atomic"
	"syscall"
	"time"

	"github.com/reactord/reactord/internal/host"
)

// counts are the counters of a loop, which only its thread accesses.
type counts struct {
	entries, completions, enters, cancels, posts, timers, stale uint64

	canceled, notFound, already uint64 // cancels that have completed
	bufferWaits                 uint64 // receives that found no buffer
	leaked                      int
}

// sharedCounts are the counters of a loop that any thread may read. The loop stores them once a turn. Reading takes no
// lock and does not disturb the loop.
type sharedCounts struct {
	_           [64]byte // fills the cache line
	entries     atomic.Uint64
	completions atomic.Uint64
	enters      atomic.Uint64
	cancels     atomic.Uint64
	canceled    atomic.Uint64
	notFound    atomic.Uint64
	already     atomic.Uint64
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
	Entries     uint64 // entries queued for the ring, cancels too
	Completions uint64 // completions taken from the ring
	Enters      uint64 // times the ring was entered
	Overflows   uint64 // enters that found completions waiting behind a full completion queue; epoll's is never full
	Cancels     uint64 // entries of these that cancel another one
	// The cancels that have completed, by their result: the operation was cancelled; the ring no longer had such an
	// operation; or it can no longer be stopped, and completes by itself.
	Canceled, CancelsNotFound, CancelsAlready uint64

	Posts       uint64 // work taken from other threads
	Timers      uint64 // timers expired
	Stale       uint64 // completions of operations that had completed: always 0, or there is a bug
	BufferWaits uint64 // receives that found no buffer and had to wait for one
	// Busy is the time in which the loop could not serve anything else since Run began: the CPU time of its thread, in
	// the kernel too, and what turns of a millisecond or more took beyond that, because a callback blocked or the
	// thread waited for a CPU.
	Busy        time.Duration
	Waiting     time.Duration // the rest of the time since then: asleep, or waiting for a CPU in a short turn
	LongestTurn time.Duration // the longest time that the loop has run callbacks without looking for completions
	SlowTurns   Durations     // such times of a millisecond or more
	Lateness    Durations     // how long after their deadlines the turns began in which timers expired
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
	storeCount(&s.entries, c.entries)
	s.completions.Store(c.completions)
	s.enters.Store(c.enters)
	store(&s.inFlight, int64(l.slots.used))
	store(&s.bufferBytes, l.bufferBytes())
	store(&s.leasedBytes, l.leasedBytes())
	if rare := c.rare(); rare != l.published {
		l.published = rare
		s.cancels.Store(c.cancels)
		s.posts.Store(c.posts)
		s.canceled.Store(c.canceled)
		s.notFound.Store(c.notFound)
		s.already.Store(c.already)
		s.timers.Store(c.timers)
		s.stale.Store(c.stale)
		s.bufferWaits.Store(c.bufferWaits)
		s.leaked.Store(int64(c.leaked))
	}
	if l.late.timers.changed != 0 {
		l.late.timers.publish()
	}
	if l.turns.slow.changed != 0 {
		l.turns.slow.publish()
	}
}

// canceledWith counts the result of a cancel.
func (c *counts) canceledWith(res int32) {
	switch syscall.Errno(-res) {
	case 0:
		c.canceled++
	case syscall.EALREADY:
		c.already++
	default: // ENOENT
		c.notFound++
	}
}

// rare returns the sum of the counts that rarely change.
func (c *counts) rare() uint64 {
	return c.cancels + c.canceled + c.notFound + c.already + c.posts + c.timers + c.stale + c.bufferWaits +
		uint64(c.leaked)
}

func storeCount(a *atomic.Uint64, v uint64) {
	if a.Load() != v {
		a.Store(v)
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
	overflows := uint64(0)
	if r, ok := l.ring.(host.OverflowCounter); ok {
		overflows = r.Overflows()
	}
	return Stats{
		Entries:     s.entries.Load(),
		Completions: s.completions.Load(),
		Enters:      s.enters.Load(),
		Overflows:   overflows,
		Cancels:     s.cancels.Load(),

		Canceled: s.canceled.Load(), CancelsNotFound: s.notFound.Load(), CancelsAlready: s.already.Load(),

		Posts:       s.posts.Load(),
		Timers:      s.timers.Load(),
		Stale:       s.stale.Load(),
		BufferWaits: s.bufferWaits.Load(),
		Busy:        busy,
		Waiting:     waiting,
		LongestTurn: time.Duration(l.turns.longest.Load()),
		SlowTurns:   l.turns.slow.read(),
		Lateness:    l.late.timers.read(),
		InFlight:    int(s.inFlight.Load()),
		Leaked:      int(s.leaked.Load()),
		BufferBytes: s.bufferBytes.Load(),
		LeasedBytes: s.leasedBytes.Load(),
		Descriptors: l.owned.count(),
	}
}
