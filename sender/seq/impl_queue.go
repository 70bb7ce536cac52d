package seq

// queue is a first-in, first-out queue. Its memory is less than four times what it holds, or minQueue. The zero queue
// is empty.
type queue[T any] struct {
	ring []T // its length is a power of two
	head int // index of the first
	n    int
}

const minQueue = 8

func (q *queue[T]) push(x T) {
	if q.n == len(q.ring) {
		q.resize(max(minQueue, 2*q.n))
	}
	*q.at(q.n) = x
	q.n++
}

// at returns the i-th item in the queue.
func (q *queue[T]) at(i int) *T { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

// pop takes the first out of the queue, which is not empty.
func (q *queue[T]) pop() T {
	var zero T
	first := q.at(0)
	x := *first
	*first = zero
	q.head++
	q.n--
	if len(q.ring) > minQueue && q.n <= len(q.ring)/4 {
		q.resize(len(q.ring) / 2)
	}
	return x
}

func (q *queue[T]) resize(size int) {
	ring := make([]T, size)
	for i := range q.n {
		ring[i] = *q.at(i)
	}
	q.ring, q.head = ring, 0
}
