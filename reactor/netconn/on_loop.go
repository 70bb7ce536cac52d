//go:build linux

package netconn

import (
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// onLoop makes the loop call f, and waits until it has. It reports whether f was called: the loop may have ended. here
// means that the caller is on the loop's thread.
func onLoop(l *reactor.Loop, here bool, f func()) bool {
	if here {
		f()
		return true
	}
	w := &loopCall{f: f, done: make(chan bool, 1)}
	w.Runner = w
	l.Enqueue(&w.Work)
	return <-w.done
}

// loopCall is a function as work for a loop.
type loopCall struct {
	sender.Work
	f    func()
	done chan bool
}

// Run implements [sender.Runner].
func (w *loopCall) Run() {
	w.f()
	w.done <- true
}

// Abandon implements [sender.Runner].
func (w *loopCall) Abandon(error) { w.done <- false }
