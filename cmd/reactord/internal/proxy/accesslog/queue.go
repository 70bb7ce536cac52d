package accesslog

import "sync/atomic"

// queue is a bounded queue of records, from any threads to one. The records are in slots of one array. A slot is in one
// of two lists, or held by a thread that fills or reads it: free has those that may be filled, and queued those that
// wait to be read, the newest first. The slot that was given back last is filled first: so the queue touches as much
// memory as it needs.
type queue struct {
	slots  []slot
	_      [64]byte
	free   atomic.Uint64 // a slot's number, and a count of changes against the ABA problem
	_      [64]byte
	queued atomic.Uint32 // a slot's number
	_      [64]byte
}

// slot is a place of the queue. Its number is its index plus one; 0 means none.
type slot struct {
	next atomic.Uint32 // in the list
	Record
}

func newQueue(size int) *queue {
	q := &queue{slots: make([]slot, size)}
	for i := range q.slots {
		q.slots[i].next.Store(uint32(i + 2))
	}
	q.slots[size-1].next.Store(0)
	q.free.Store(1)
	return q
}

func (q *queue) slot(n uint32) *slot { return &q.slots[n-1] }

// put queues a record, and reports whether there was room. first reports that the queue was empty, so the reader must
// be woken.
func (q *queue) put(r *Record) (ok, first bool) {
	n := q.take()
	if n == 0 {
		return false, false
	}
	s := q.slot(n)
	s.Record = *r
	for {
		before := q.queued.Load()
		s.next.Store(before)
		if q.queued.CompareAndSwap(before, n) {
			return true, before == 0
		}
	}
}

// take takes a free slot, or returns 0.
func (q *queue) take() uint32 {
	for {
		head := q.free.Load()
		n := uint32(head)
		if n == 0 {
			return 0
		}
		next := (head>>32+1)<<32 | uint64(q.slot(n).next.Load())
		if q.free.CompareAndSwap(head, next) {
			return n
		}
	}
}

// all takes what is queued, in order, and returns the number of the first slot, which links to the next one, or 0.
// The caller gives each slot back.
func (q *queue) all() (first uint32) {
	for n := q.queued.Swap(0); n != 0; {
		s := q.slot(n)
		older := s.next.Load()
		s.next.Store(first)
		n, first = older, n
	}
	return first
}

// give gives a slot back, and returns the one behind it.
func (q *queue) give(n uint32) (next uint32) {
	s := q.slot(n)
	next = s.next.Load()
	for {
		head := q.free.Load()
		s.next.Store(uint32(head))
		if q.free.CompareAndSwap(head, (head>>32+1)<<32|uint64(n)) {
			return next
		}
	}
}
