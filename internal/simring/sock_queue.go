package simring

import "slices"

// byteQueue is bytes of a stream that wait. Its memory is that of the queues of a run, and is used again.
type byteQueue struct {
	b    []byte
	head int // bytes of b that are gone
}

// queueMemory is memory of byte queues that are empty.
type queueMemory [][]byte

// The limits of what is kept.
const (
	mostKept  = 1 << 10 // slices
	mostBytes = 1 << 16 // of each
)

func (q *byteQueue) len() int { return len(q.b) - q.head }

// bytes returns those that wait, until the queue changes.
func (q *byteQueue) bytes() []byte { return q.b[q.head:] }

// reserve makes room for n more bytes.
func (q *byteQueue) reserve(m *queueMemory, n int) {
	if last := len(*m) - 1; q.b == nil && last >= 0 {
		q.b, *m = (*m)[last], (*m)[:last]
	}
	if q.head > 0 && cap(q.b)-len(q.b) < n {
		q.b = q.b[:copy(q.b, q.b[q.head:])]
		q.head = 0
	}
	q.b = slices.Grow(q.b, n)
}

// push adds bytes.
func (q *byteQueue) push(m *queueMemory, p []byte) {
	if len(p) > 0 {
		q.reserve(m, len(p))
		q.b = append(q.b, p...)
	}
}

// drop removes the first n bytes.
func (q *byteQueue) drop(m *queueMemory, n int) {
	if q.head += n; q.head == len(q.b) {
		q.clear(m)
	}
}

// clear removes all bytes.
func (q *byteQueue) clear(m *queueMemory) {
	if cap(q.b) > 0 && cap(q.b) <= mostBytes && len(*m) < mostKept {
		*m = append(*m, q.b[:0])
	}
	q.b, q.head = nil, 0
}
