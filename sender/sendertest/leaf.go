package sendertest

import (
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// Action is what a [Leaf] does when it is started, or when stop is requested.
type Action uint8

// The actions.
const (
	Nothing Action = iota // do nothing
	Inline                // complete inside the call
	Later                 // complete on Leaf.Thread
)

// Leaf is a sender that is controlled by the test. It is used by pointer, and may be in flight many times at the same
// time. A stop request before Start has the same effect as one after it.
//
// Allocation: its operations allocate.
type Leaf[T any] struct {
	Result  Result[T] // what it completes with unless it is stopped
	OnStart Action    // Nothing: it completes by Finish, or when stop is requested
	OnStop  Action    // Nothing: stop requests are ignored
	Thread  *Thread   // for Later

	mu     sync.Mutex
	live   map[*leafRun[T]]bool
	starts int
}

// LeafOp is the operation state of a [Leaf].
type LeafOp[T any] struct {
	leaf *Leaf[T]
	r    sender.Receiver[T]
}

// leafRun is one operation in flight. It is not part of the LeafOp, so that a Leaf never touches its operation state
// after the completion, when a test looks for code that does.
type leafRun[T any] struct {
	leaf   *Leaf[T]
	r      sender.Receiver[T]
	onStop stop.Callback
	ended  atomic.Bool
}

// Connect implements [sender.Sender].
func (l *Leaf[T]) Connect(op *LeafOp[T], r sender.Receiver[T]) sender.Operation {
	op.leaf, op.r = l, r
	return op
}

// Start implements [sender.Operation].
func (op *LeafOp[T]) Start() {
	l := op.leaf
	run := &leafRun[T]{leaf: l, r: op.r}
	l.mu.Lock()
	if l.live == nil {
		l.live = make(map[*leafRun[T]]bool)
	}
	l.live[run] = true
	l.starts++
	l.mu.Unlock()

	if l.OnStop != Nothing {
		run.onStop.Register(op.r.Env().StopToken(), run)
	}
	run.act(l.OnStart, l.Result)
}

func (run *leafRun[T]) OnStop() { run.act(run.leaf.OnStop, Stopped[T]()) }

func (run *leafRun[T]) act(a Action, x Result[T]) {
	switch a {
	case Inline:
		run.finish(x)
	case Later:
		run.leaf.Thread.Do(func() { run.finish(x) })
	}
}

// finish completes the operation, unless it has completed.
func (run *leafRun[T]) finish(x Result[T]) {
	if run.ended.Swap(true) {
		return
	}
	run.onStop.Deregister()
	run.leaf.mu.Lock()
	delete(run.leaf.live, run)
	run.leaf.mu.Unlock()
	x.Deliver(run.r)
}

// Finish completes all operations in flight with l.Result, on the calling thread. It returns their number.
func (l *Leaf[T]) Finish() int {
	l.mu.Lock()
	runs := make([]*leafRun[T], 0, len(l.live))
	for run := range l.live {
		runs = append(runs, run)
	}
	l.mu.Unlock()
	for _, run := range runs {
		run.finish(l.Result)
	}
	return len(runs)
}

// Starts returns how many operations have been started.
func (l *Leaf[T]) Starts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.starts
}

// InFlight returns how many operations have been started and have not completed.
func (l *Leaf[T]) InFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.live)
}
