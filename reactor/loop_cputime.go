//go:build linux

package reactor

import (
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/internal/host"
)

// cpuTime measures how long a loop has been busy. Wall-clock time alone cannot: a ring does much of its work in the
// same call in which it then waits. The kernel counts the CPU time of a thread anyway, and any thread may read it, at
// no cost to the loop. To it is added for how long turns have lasted beyond that, see turnClock.
type cpuTime struct {
	thread atomic.Int64 // the id of the loop's thread; 0: Run has not begun, or has returned
	before atomic.Int64 // CPU time that the thread had used when Run began, ns
	began  atomic.Int64 // when that was, on the loop's clock
	busy   ratchet
	waited ratchet
}

// start begins to measure. On the loop's thread.
func (c *cpuTime) start(sys host.System, thread int) {
	c.before.Store(sys.ThreadTime(thread))
	c.began.Store(sys.Clock())
	c.thread.Store(int64(thread))
}

// readCPU returns for how long the loop has been busy and has waited. From any thread.
func (l *Loop) readCPU() (busy, waited time.Duration) {
	c := &l.cpu
	var used, rest int64
	if thread := c.thread.Load(); thread != 0 {
		cpu := l.sys.ThreadTime(int(thread))
		now := l.sys.Clock()
		blocked, ok := l.turns.beyond(now, cpu)
		used = cpu - c.before.Load() + blocked
		rest = now - c.began.Load() - used
		if !ok || c.thread.Load() != thread { // if the thread has ended its id may be another thread's by now
			used, rest = 0, 0
		}
	}
	return c.busy.raise(used), c.waited.raise(rest)
}

// ratchet is a time that never decreases, although a reader may be overtaken by another one, and although the two
// clocks do not run at quite the same rate.
type ratchet struct{ ns atomic.Int64 }

// raise returns the largest of the values that it was ever given.
func (r *ratchet) raise(ns int64) time.Duration {
	for {
		old := r.ns.Load()
		if ns <= old {
			return time.Duration(old)
		}
		if r.ns.CompareAndSwap(old, ns) {
			return time.Duration(ns)
		}
	}
}
