//go:build linux

package reactor

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/sender"
)

// ErrLeaked matches the error of [Loop.Run] when operations did not complete in time.
var ErrLeaked = errors.New("operations never completed")

// phase is where a loop is in its shutdown protocol. It only moves forward.
//
//	running → draining   Stop was called: everything in flight is cancelled, and an operation that is started
//	                     from now on completes stopped, except for closing descriptors.
//	draining → closed    nothing is in flight, no operation is ready to finish, and the remote stack is empty and was
//	                     closed in the same step. Timers hold nothing and are dropped.
//	any → closed         the ring failed, or the drain took too long: see abandon.
type phase uint8

const (
	phaseRunning phase = iota
	phaseDraining
	phaseClosed
)

// Stop asks the loop to drain: everything in flight is cancelled, and when all of it has completed Run returns. From
// any thread, more than once.
func (l *Loop) Stop() {
	l.stop.Store(true)
	l.nudge()
}

// drained drives the protocol by one step. It reports whether the loop is empty and closed, or has given up.
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

// drainReserve returns the last part of a drain, for the operations that aborted tasks start, such as closing sockets.
func (l *Loop) drainReserve() time.Duration { return l.cfg.DrainTimeout / 8 }

// watchdog is a Loop as the handler of the timer that bounds its drain.
type watchdog Loop

func (w *watchdog) OnTimer(int64) { w.gaveUp = true }

// close frees what the loop holds.
func (l *Loop) close() error {
	if l.phase != phaseClosed || l.slots.used != 0 {
		var cause error
		if l.gaveUp && l.slots.used == 0 {
			cause = fmt.Errorf("reactor: loop %s has not drained within %v: work on it enqueues work again and again: %w",
				l.name, l.cfg.DrainTimeout, os.ErrDeadlineExceeded)
		}
		return l.abandon(cause)
	}
	if assert.Enabled {
		l.assertEmpty()
	}
	return l.free()
}

func (l *Loop) free() error {
	l.publish()
	err := l.ring.Close()
	if l.leasedBytes() == 0 {
		l.unmapBuffers()
	}
	return err
}

func (l *Loop) assertEmpty() {
	switch {
	case l.phase != phaseClosed:
		panic("reactor: closing a loop that is not drained")
	case len(l.ready) != 0:
		panic("reactor: closing a loop with operations ready to run")
	}
}

// leaked keeps, forever, memory that the kernel may still write to.
var leaked struct {
	mu    sync.Mutex
	loops []*Loop
}

// abandon gives up a loop that has not drained. The kernel may still write to the memory of operations in flight, so
// nothing is freed if there is one.
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
	return errors.Join(cause, l.ring.Close(), fmt.Errorf("reactor: %d %w: %s", l.slots.used, ErrLeaked, l.leftInFlight()))
}

// leftInFlight names the oldest operations in flight.
func (l *Loop) leftInFlight() string {
	const most = 8
	all := l.InFlight()
	names := make([]string, 0, most+1)
	for _, f := range all[:min(len(all), most)] {
		names = append(names, strings.Join(strings.Fields(f.String()), " "))
	}
	if len(all) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// refuse closes the remote stack, and abandons the work that is there.
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
