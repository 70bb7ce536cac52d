package proxy

import (
	"slices"

	"github.com/reactord/reactord/reactor"
)

// There are two ways to wait for descriptors. A listener waits before it accepts, until a connection anywhere in the
// process returns a pair of descriptors to the budget. A connection waits after it was accepted, if the process has no
// descriptor although the budget says so; nothing reports when there is one, so the worker retries.

// waitForBudget puts a listener among those that wait for a pair of descriptors. There may be one already.
func (w *worker) waitForBudget(l *listener) {
	if !l.waits {
		l.waits = true
		w.waitingListeners = append(w.waitingListeners, l)
	}
	w.descriptors.join()
}

// forgetWaiting takes a listener that stops out of those that wait.
func (w *worker) forgetWaiting(l *listener) {
	if l.waits {
		l.waits = false
		w.waitingListeners = slices.DeleteFunc(w.waitingListeners, func(other *listener) bool { return other == l })
	}
}

// resume resumes the listeners that wait, in order, until one of them has to wait again.
func (w *worker) resume() {
	if len(w.waitingListeners) == 0 { // those that waited have stopped
		w.proxy.budget.waiting.wake()
	}
	for len(w.waitingListeners) != 0 {
		l := w.waitingListeners[0]
		w.waitingListeners = slices.Delete(w.waitingListeners, 0, 1)
		l.waits = false
		if l.resume(); l.waits {
			return
		}
	}
}

// waitForFD puts a connection among those that wait for a descriptor, behind the others. It waits for the idle timeout
// at most.
func (w *worker) waitForFD(c *conn) {
	w.waitingForFD = append(w.waitingForFD, c)
	w.proxy.waitingForFD.Add(1)
	if c.dial.state != dialWaitingForFD {
		c.dial.state = dialWaitingForFD
		w.loop.SetTimer(&c.timer, w.loop.Now()+int64(c.settings.IdleTimeout))
	}
	if !w.retry.Pending() {
		w.loop.SetTimer(&w.retry, w.loop.Now()+int64(reactor.AcceptBackoff))
	}
}

// retryTimer is a worker as the handler of its retry timer.
type retryTimer worker

func (r *retryTimer) OnTimer(int64) { (*worker)(r).retryWaiting() }

// retryWaiting retries the connections that wait for a descriptor, in order, until one of them has to wait again.
func (w *worker) retryWaiting() {
	waiting := w.waitingForFD
	w.waitingForFD = nil
	for i, c := range waiting {
		w.proxy.waitingForFD.Add(-1)
		if c.phase == phaseConnecting {
			c.dial.next()
		}
		if len(w.waitingForFD) != 0 { // c waits again, and so do those behind it
			w.waitingForFD = waiting[i:]
			return
		}
		waiting[i] = nil // the list may be kept for long
	}
}
