package goroutine

import (
	"sync"
	"sync/atomic"
)

// Driver is a goroutine that drives a loop, so that it must not block until the loop has done something. The zero
// value is none.
type Driver struct {
	goroutine uintptr
	thread    int // 0: that goroutine alone; otherwise all on its thread, to which it is locked
}

// drivers are those at work, each as often as it drives a loop.
var drivers struct {
	any atomic.Int32
	mu  sync.Mutex
	by  map[Driver]int
}

// Drive makes the calling goroutine a driver until Release. locked: it is locked to its thread meanwhile, on which no
// goroutines run but its coroutines.
func Drive(locked bool) Driver {
	d := Driver{goroutine: current()}
	if locked {
		if thread := Thread(); thread != 0 {
			d = Driver{thread: thread}
		}
	}
	drivers.mu.Lock()
	defer drivers.mu.Unlock()
	if drivers.by == nil {
		drivers.by = make(map[Driver]int)
	}
	drivers.by[d]++
	drivers.any.Add(1)
	return d
}

// Release ends what Drive began.
func (d Driver) Release() {
	drivers.mu.Lock()
	defer drivers.mu.Unlock()
	if drivers.by[d]--; drivers.by[d] == 0 {
		delete(drivers.by, d)
	}
	drivers.any.Add(-1)
}

// Drives tells whether the calling goroutine is a driver, or a coroutine of a locked one.
func Drives() bool {
	if drivers.any.Load() == 0 {
		return false
	}
	g, thread := Driver{goroutine: current()}, Driver{thread: Thread()}
	drivers.mu.Lock()
	defer drivers.mu.Unlock()
	return drivers.by[g] != 0 || drivers.by[thread] != 0
}
