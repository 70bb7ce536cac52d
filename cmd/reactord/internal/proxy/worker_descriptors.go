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
	if !l.awaitsBudget {
		l.awaitsBudget = true
		w.waitingListeners = append(w.waitingListeners, l)
	}
	w.descriptors.Join()
}

// forgetWaiting takes a listener that stops out of those that wait.
func (w *worker) forgetWaiting(l *listener) {
	if l.awaitsBudget {
		l.awaitsBudget = false
		w.waitingListeners = slices.DeleteFunc(w.waitingListeners, func(other *listener) bool { return other == l })
	}
}

// Resume resumes the listeners that wait, in order, until one of them has to wait again. It implements [limit.Resumer].
func (w *worker) Resume() bool {
	if w.state > workerServing || len(w.waitingListeners) == 0 { // those that waited have stopped
		return false
	}
	for len(w.waitingListeners) != 0 {
		l := w.waitingListeners[0]
		w.waitingListeners = slices.Delete(w.waitingListeners, 0, 1)
		l.awaitsBudget = false
		if l.resume(); l.awaitsBudget {
			break
		}
	}
	return true
}

// waitForFD announces a connection that joins the queue forFD. Each call is followed by one of hasFD.
func (w *worker) waitForFD() {
	w.proxy.waitingForFD.Add(1)
	if !w.retry.Pending() {
		w.loop.SetTimer(&w.retry, w.loop.Now()+int64(reactor.AcceptBackoff))
	}
}

// retryTimer is a worker as the handler of its retry timer.
type retryTimer worker

func (r *retryTimer) OnTimer(int64) { (*worker)(r).retryWaiting() }

// hasFD notes that a connection has left the queue.
func (w *worker) hasFD() { w.proxy.waitingForFD.Add(-1) }

// retryWaiting retries the connections that wait for a descriptor, in order, until one of them has to wait again.
func (w *worker) retryWaiting() {
	for w.forFD.length != 0 {
		p := w.forFD.first()
		err := p.conn.dial.openSocket()
		if outOfDescriptors(err) {
			p.conn.listener.noDescriptor(err)
			if !w.retry.Pending() {
				w.loop.SetTimer(&w.retry, w.loop.Now()+int64(reactor.AcceptBackoff))
			}
			return
		}
		p.leave(err)
	}
}
