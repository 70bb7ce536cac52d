package task

import (
	"sync"
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/sender/stop"
)

// waiter is the part of an operation state that waits for another task: on the list of a Queue or a Cond. It is the
// first field of the operation state, so that the one is found by the other. Its state is guarded by the lock of the
// list.
//
//	starting → waiting   it is on the list
//	starting → stopped   a stop request came before that
//	starting → settled   what it waits for is there
//	waiting  → settled   what it waits for has come, or a stop request: who takes it off the list completes it
type waiter struct {
	links  intrusive.Links
	mu     *sync.Mutex // of the list
	list   *intrusive.List
	onStop stop.Callback
	state  waiterState
}

type waiterState uint8

const (
	waiterStarting waiterState = iota
	waiterWaiting
	waiterStopped
	waiterSettled
)

// register begins to listen to stop requests. h is the operation state, whose OnStop calls stop.
func (w *waiter) register(mu *sync.Mutex, list *intrusive.List, token stop.Token, h stop.Handler) {
	w.mu, w.list, w.state = mu, list, waiterStarting
	w.onStop.Register(token, h)
}

// wait puts w on its list. With the lock held.
func (w *waiter) wait() {
	w.state = waiterWaiting
	w.list.PushBack(&w.links)
}

// stop takes w off the list after a stop request. It reports whether the caller completes the operation.
func (w *waiter) stop() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.state {
	case waiterStarting:
		w.state = waiterStopped
	case waiterWaiting:
		w.list.Remove(&w.links)
		w.state = waiterSettled
		return true
	}
	return false
}

// takeWaiter takes the first off the list; nil if none waits. The caller completes it. With the lock held.
func takeWaiter(list *intrusive.List) *waiter {
	w := intrusive.Owner[waiter](list.PopFront(), unsafe.Offsetof(waiter{}.links))
	if w != nil {
		w.state = waiterSettled
	}
	return w
}
