package task

import (
	"io"
	"sync"
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// Queue passes items from tasks, receivers and any other code to tasks, in order. A channel in its place would block
// the scheduler's thread, and with it the task that is to send. The zero Queue is ready. It must not be copied. All
// methods may be called from any thread.
//
// An operation that waits completes where the item, the room or the stop request comes from: inside Push, TryPop, Close
// or RequestStop, or where another Pop or Put is started. A task continues on its own scheduler all the same.
//
// Of operations that wait the first is served first. An item that was given to a Pop is lost if the task is abandoned
// before it takes the item.
//
// Allocation: room for items, as a slice that grows; none once it is large enough.
type Queue[T any] struct {
	// Limit is how many items may be in the queue; 0: any number. Set it first.
	Limit int

	mu     sync.Mutex
	items  []T // a ring; its length is a power of two
	first  int // index of the first item
	count  int
	closed bool
	pops   intrusive.List // of waiters, while there is no item
	puts   intrusive.List // of waiters, while there is no room
}

// Push appends v. It reports false, and does nothing, if the queue is full or closed. It never waits.
func (q *Queue[T]) Push(v T) bool {
	q.mu.Lock()
	if q.closed || q.full() {
		q.mu.Unlock()
		return false
	}
	q.give(v)
	return true
}

// give gives v to the Pop that waits, or appends it. It unlocks.
func (q *Queue[T]) give(v T) {
	w := takeWaiter(&q.pops)
	if w == nil {
		q.append(v)
	}
	q.mu.Unlock()
	if w != nil {
		w.onStop.Deregister()
		(*PopOp[T])(unsafe.Pointer(w)).r.SetValue(v)
	}
}

func (q *Queue[T]) full() bool { return q.Limit > 0 && q.count >= q.Limit }

func (q *Queue[T]) append(v T) {
	if q.count == len(q.items) {
		items := make([]T, max(8, 2*len(q.items)))
		for i := range q.count {
			items[i] = q.items[(q.first+i)&(len(q.items)-1)]
		}
		q.items, q.first = items, 0
	}
	q.items[(q.first+q.count)&(len(q.items)-1)] = v
	q.count++
}

// remove takes the first item out, and appends that of the first Put that waits, which the caller completes. It
// unlocks.
func (q *Queue[T]) remove() (v T, put *PutOp[T]) {
	var none T
	v = q.items[q.first]
	q.items[q.first] = none
	q.first = (q.first + 1) & (len(q.items) - 1)
	q.count--
	put = (*PutOp[T])(unsafe.Pointer(takeWaiter(&q.puts)))
	if put != nil {
		q.append(put.v)
	}
	q.mu.Unlock()
	return v, put
}

// TryPop takes the first item. It reports false if the queue is empty.
func (q *Queue[T]) TryPop() (v T, ok bool) {
	q.mu.Lock()
	if q.count == 0 {
		q.mu.Unlock()
		return v, false
	}
	v, put := q.remove()
	put.complete(nil)
	return v, true
}

// Len returns how many items are in the queue.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count
}

// Close lets no further item in: a Put, also one that waits, completes with [sender.ErrClosed]. The items that are in
// the queue can still be taken; after them Pop completes with io.EOF. It may be called more than once.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.end()
}

// end completes all that wait. It continues if a receiver ends this frame by runtime.Goexit.
func (q *Queue[T]) end() {
	returned := false
	defer aftergoexit.Run(&returned, q.end)
	for {
		q.mu.Lock()
		pop := (*PopOp[T])(unsafe.Pointer(takeWaiter(&q.pops)))
		put := (*PutOp[T])(unsafe.Pointer(takeWaiter(&q.puts)))
		q.mu.Unlock()
		if pop == nil && put == nil {
			break
		}
		if pop != nil { // then there is no Put
			pop.onStop.Deregister()
			pop.r.SetError(io.EOF)
		}
		put.complete(sender.ErrClosed)
	}
	returned = true
}

// Pop returns a sender of the first item, which it takes out of the queue. It waits until there is one.
//
// Completion: with io.EOF if the queue is closed and empty. Inside Start if it need not wait.
//
// Cancellation: a stop request ends the wait, and completes it stopped.
func (q *Queue[T]) Pop() PopSender[T] { return PopSender[T]{q} }

// PopSender is the sender that [Queue.Pop] returns.
type PopSender[T any] struct{ q *Queue[T] }

// PopOp is the operation state of [PopSender].
type PopOp[T any] struct {
	waiter // the first field
	q      *Queue[T]
	r      sender.Receiver[T]
}

// Connect implements [sender.Sender].
func (s PopSender[T]) Connect(op *PopOp[T], r sender.Receiver[T]) sender.Operation {
	op.q, op.r = s.q, r
	return op
}

// Start implements [sender.Operation].
func (op *PopOp[T]) Start() {
	q, token := op.q, op.r.Env().StopToken()
	op.register(&q.mu, &q.pops, token, op)
	q.mu.Lock()
	switch {
	case op.state == waiterStopped:
		q.mu.Unlock()
		op.onStop.Deregister()
		op.r.SetStopped()
	case q.count != 0:
		op.state = waiterSettled
		v, put := q.remove()
		op.onStop.Deregister()
		returned := false
		defer aftergoexit.Run(&returned, func() { op.r.SetValue(v) })
		put.complete(nil)
		returned = true
		op.r.SetValue(v)
	case q.closed:
		op.state = waiterSettled
		q.mu.Unlock()
		op.onStop.Deregister()
		op.r.SetError(io.EOF)
	default:
		op.wait()
		q.mu.Unlock()
	}
}

// OnStop implements [stop.Handler].
func (op *PopOp[T]) OnStop() {
	if op.stop() {
		op.onStop.Deregister()
		op.r.SetStopped()
	}
}

// Put returns a sender that appends v. If the queue has a limit, it waits until there is room.
//
// Completion: with [sender.ErrClosed] if the queue is closed. Inside Start if it need not wait.
//
// Cancellation: a stop request ends the wait, and completes it stopped.
func (q *Queue[T]) Put(v T) PutSender[T] { return PutSender[T]{q, v} }

// PutSender is the sender that [Queue.Put] returns.
type PutSender[T any] struct {
	q *Queue[T]
	v T
}

// PutOp is the operation state of [PutSender].
type PutOp[T any] struct {
	waiter // the first field
	q      *Queue[T]
	v      T
	r      sender.Receiver[struct{}]
}

// Connect implements [sender.Sender].
func (s PutSender[T]) Connect(op *PutOp[T], r sender.Receiver[struct{}]) sender.Operation {
	op.q, op.v, op.r = s.q, s.v, r
	return op
}

// Start implements [sender.Operation].
func (op *PutOp[T]) Start() {
	q, token := op.q, op.r.Env().StopToken()
	op.register(&q.mu, &q.puts, token, op)
	q.mu.Lock()
	switch {
	case op.state == waiterStopped:
		q.mu.Unlock()
		op.onStop.Deregister()
		op.r.SetStopped()
	case q.closed:
		op.state = waiterSettled
		q.mu.Unlock()
		op.complete(sender.ErrClosed)
	case !q.full():
		op.state = waiterSettled
		returned := false
		defer aftergoexit.Run(&returned, func() { op.complete(nil) })
		q.give(op.v)
		returned = true
		op.complete(nil)
	default:
		op.wait()
		q.mu.Unlock()
	}
}

// complete completes an operation that is settled. It does nothing if op is nil.
func (op *PutOp[T]) complete(err error) {
	if op == nil {
		return
	}
	var none T
	op.onStop.Deregister()
	op.v = none
	sender.Complete(op.r, struct{}{}, err)
}

// OnStop implements [stop.Handler].
func (op *PutOp[T]) OnStop() {
	if op.stop() {
		op.onStop.Deregister()
		op.r.SetStopped()
	}
}
