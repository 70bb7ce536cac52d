package goroutine

import (
	"sync"
	"sync/atomic"
)

// Driver is a goroutine that drives a loop: if it waited for the loop, it would wait for itself. The zero Driver is
// none.
type Driver struct {
	goroutine uintptr
	thread    int // 0: only that goroutine; otherwise all goroutines on this thread
}

// drivers counts for each driver how many loops it drives.
var drivers struct {
	any atomic.Int32
	mu  sync.Mutex
	by  map[Driver]int
}

// Drive makes the calling goroutine a driver until Release. locked: the goroutine is locked to its thread until then,
// so only it and its coroutines run there.
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

// Release undoes Drive.
func (d Driver) Release() {
	drivers.mu.Lock()
	defer drivers.mu.Unlock()
	if drivers.by[d]--; drivers.by[d] == 0 {
		delete(drivers.by, d)
	}
	drivers.any.Add(-1)
}

// Drives reports whether the calling goroutine is a driver, or a coroutine of a locked driver.
func Drives() bool {
	if drivers.any.Load() == 0 {
		return false
	}
	g, thread := Driver{goroutine: current()}, Driver{thread: Thread()}
	drivers.mu.Lock()
	defer drivers.mu.Unlock()
	return drivers.by[g] != 0 || drivers.by[thread] != 0
}
