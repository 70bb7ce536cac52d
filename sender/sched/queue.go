package sched

import "github.com/reactord/reactord/sender"

// queue is work in the order it came in. Its links are the work's own.
type queue struct{ head, tail *sender.Work }

func (q *queue) empty() bool { return q.head == nil }

func (q *queue) push(w *sender.Work) {
	w.Next = nil
	if q.head == nil {
		q.head = w
	} else {
		q.tail.Next = w
	}
	q.tail = w
}

// pop takes the first, or returns nil.
func (q *queue) pop() *sender.Work {
	w := q.head
	if w != nil {
		q.head, w.Next = w.Next, nil
	}
	return w
}
