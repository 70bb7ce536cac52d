package sender

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
	// Abandon says that the resource will not run the work because it is shutting down.
	Abandon()
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
	if w != nil {
		q.head, w.Next = w.Next, nil
	}
	return w
}
