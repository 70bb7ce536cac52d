package sender

import "errors"

// Work is a unit of work to be enqueued: an intrusive link, and what to call.
type Work struct {
	// Next links work while it is queued; it belongs to the queue.
	Next *Work
	// Runner is called when the work's turn comes. Set it before Enqueue.
	Runner Runner
}

// Runner is what an execution resource calls.
type Runner interface {
	// Run is the work's turn, on the resource.
	Run()
	// Abandon says that the resource does not run the work, and why: ErrStopped if stop was requested or the
	// resource is shutting down; otherwise it refuses the work, with ErrClosed, ErrFull, os.ErrDeadlineExceeded
	// or an error of its own. nil is as ErrStopped. It is called on any thread.
	//
	// What completes a receiver does so by Abandon, the function.
	Abandon(reason error)
}

// ErrClosed is why a resource refuses work that comes after its end.
var ErrClosed = errors.New("sender: the scheduler has ended")

// ErrFull is why a resource refuses work that exceeds its limit.
var ErrFull = errors.New("sender: the scheduler is full")

// Abandon completes r as an operation whose work was abandoned: stopped if reason is ErrStopped, wraps it or is
// nil, and with the error reason otherwise, so that algorithms which handle errors hear of a refusal.
//
// Source: P1525R1 §1.2.6, where a scheduler that cannot do its work calls set_error with the reason.
func Abandon[T any](r Receiver[T], reason error) {
	if reason == nil {
		reason = ErrStopped
	}
	var none T
	Complete(r, none, reason)
}

// Continuation is a Runner that can say that its work is no new work but goes on with what has begun: it brings a
// result, or is a task's next turn. A limit does not apply to it, since to refuse it would lose what was done.
type Continuation interface {
	Runner
	Continues() bool
}

// Continues tells whether w is the work of a Continuation. It is for resources with a limit.
func (w *Work) Continues() bool {
	c, ok := w.Runner.(Continuation)
	return ok && c.Continues()
}

// WorkQueue is work in the order it came in, for a resource to keep. Its links are the work's own, so that it
// allocates nothing. The zero WorkQueue is empty. Nothing here is synchronised.
type WorkQueue struct{ head, tail *Work }

// Empty tells whether nothing is in the queue.
func (q *WorkQueue) Empty() bool { return q.head == nil }

// Push puts w behind the others. w is in no queue.
func (q *WorkQueue) Push(w *Work) {
	w.Next = nil
	if q.head == nil {
		q.head = w
	} else {
		q.tail.Next = w
	}
	q.tail = w
}

// Pop takes the first, or returns nil.
func (q *WorkQueue) Pop() *Work {
	w := q.head
	if w == nil {
		return nil
	}
	if q.head, w.Next = w.Next, nil; q.head == nil {
		q.tail = nil // or an empty queue would keep the last
	}
	return w
}
