package sender

import "errors"

// Work is a unit of work for a [Scheduler]: an intrusive link, and what to call. It is usually a field of an
// operation state.
type Work struct {
	// Next links work while it is queued. It belongs to the queue.
	Next *Work
	// Runner is called by the resource. Set it before Enqueue.
	Runner Runner
}

// Runner is what an execution resource calls: exactly one of its methods, once for each Enqueue.
type Runner interface {
	// Run runs the work, on the resource.
	Run()
	// Abandon reports that the resource will not run the work, and why:
	//
	//   - [ErrStopped]: stop was requested, or the resource is shutting down. The operation completes stopped.
	//   - [ErrClosed], [ErrFull], os.ErrDeadlineExceeded or another error: the resource refuses the work. The
	//     operation completes with this error.
	//
	// nil means ErrStopped. Abandon may be called on any thread. Implementations that complete a receiver call
	// [CompleteAbandoned].
	Abandon(reason error)
}

// ErrClosed is the reason for which a resource refuses work after it has ended.
var ErrClosed = errors.New("sender: the scheduler has ended")

// ErrFull is the reason for which a resource refuses work that exceeds its limit.
var ErrFull = errors.New("sender: the scheduler is full")

// LimitExempter is a [Runner] whose work may be exempt from the limit of a resource, because it is not new work: it
// delivers the result of an operation, or resumes a task. To refuse it would lose what has been done.
type LimitExempter interface {
	Runner
	ExemptFromLimit() bool
}

// ExemptFromLimit reports whether a resource must accept w although its limit is reached. Resources with a limit call
// it.
func (w *Work) ExemptFromLimit() bool {
	c, ok := w.Runner.(LimitExempter)
	return ok && c.ExemptFromLimit()
}

// WorkQueue is a first-in, first-out queue of work, for implementations of [Scheduler]. It links the work itself, so
// it allocates nothing. The zero WorkQueue is empty. It is not synchronised.
type WorkQueue struct{ head, tail *Work }

// Empty reports whether the queue has no work.
func (q *WorkQueue) Empty() bool { return q.head == nil }

// Push puts w, which is in no queue, behind the others.
func (q *WorkQueue) Push(w *Work) {
	w.Next = nil
	if q.head == nil {
		q.head = w
	} else {
		q.tail.Next = w
	}
	q.tail = w
}

// Pop takes the first work out of the queue; nil: the queue is empty.
func (q *WorkQueue) Pop() *Work {
	w := q.head
	if w == nil {
		return nil
	}
	if q.head, w.Next = w.Next, nil; q.head == nil {
		q.tail = nil // otherwise an empty queue would keep the last work reachable
	}
	return w
}
