package reactor

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/sender"
)

// phase is where a loop stands in its shutdown protocol. It only ever moves forward.
//
//	running → draining   Stop was seen: everything in flight is asked to stop, and what is started
//	                     from now on completes stopped, but for closing sockets.
//	draining → closed    nothing is in flight, no operation waits to be run, and the remote stack is
//	                     empty and closed in one step. Timers hold nothing and are dropped.
type phase uint8

const (
	phaseRunning phase = iota
	phaseDraining
	phaseClosed
)

// Stop asks the loop to end. From any thread, more than once.
func (l *Loop) Stop() {
	l.stop.Store(true)
	l.nudge()
}

// drained drives the protocol by one step, and reports whether the loop is empty and closed.
func (l *Loop) drained() bool {
	if l.phase == phaseRunning {
		l.phase = phaseDraining
		l.watchdog.Init((*watchdog)(l))
		l.timers.Push(&l.watchdog, after(l.now, int64(l.cfg.DrainTimeout)))
		l.slots.each(operation.cancel)
	}
	if l.slots.used == 0 && len(l.ready) == 0 && l.remote.close() {
		l.phase = phaseClosed
		return true
	}
	return l.gaveUp
}

// aftermath is the end of a drain, for what is left behind by tasks that did not end before.
func (l *Loop) aftermath() time.Duration { return l.cfg.DrainTimeout / 8 }

// watchdog is a Loop as the handler of the timer that bounds its drain.
type watchdog Loop

func (w *watchdog) OnTimer(int64) { w.gaveUp = true }

// close frees what the loop holds.
func (l *Loop) close() error {
	if l.phase != phaseClosed || l.slots.used != 0 {
		return l.abandon(nil)
	}
	if assert.Enabled {
		l.assertEmpty()
	}
	return l.free()
}

func (l *Loop) free() error {
	l.publish()
	err := l.ring.Close()
	if l.buffers.leasedBytes() == 0 {
		l.buffers.unmap()
	}
	return err
}

func (l *Loop) assertEmpty() {
	switch {
	case l.phase != phaseClosed:
		panic("reactor: closing a loop that is not drained")
	case len(l.ready) != 0:
		panic("reactor: closing a loop with operations ready to run")
	case l.buffers.leasedBytes() != 0:
		panic(fmt.Sprintf("reactor: closing a loop with %d bytes of buffers lent", l.buffers.leasedBytes()))
	}
}

// leaked keeps what the kernel may still write to: forever.
var leaked struct {
	mu    sync.Mutex
	loops []*Loop
}

// abandon gives up a loop that is not drained. The kernel may still write to the memory of operations
// in flight, so if there are any nothing is freed.
func (l *Loop) abandon(cause error) error {
	l.refuse()
	if l.tasks != nil {
		l.tasks.abandon()
	}
	if l.slots.used == 0 {
		return errors.Join(cause, l.free())
	}
	leaked.mu.Lock()
	leaked.loops = append(leaked.loops, l)
	leaked.mu.Unlock()
	l.count.leaked = l.slots.used
	l.publish()
	return errors.Join(cause, l.ring.Close(), fmt.Errorf("reactor: %d %w", l.slots.used, ErrLeaked))
}

// refuse closes the remote stack, and abandons what is there.
func (l *Loop) refuse() {
	if l.phase == phaseClosed {
		return
	}
	l.phase = phaseClosed
	for !l.remote.close() {
		for w := l.remote.take(); w != nil; {
			next := w.Next
			w.Next = nil
			w.Runner.Abandon(sender.ErrStopped)
			w = next
		}
	}
}

var _ sender.Scheduler = (*Loop)(nil)
