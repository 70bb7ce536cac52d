package accesslog

import "sync/atomic"

// queue is a bounded lock-free queue of records with many producers and one consumer. The records are in the slots of
// one array. A slot is in one of two lists, or held by the thread that fills or reads it: free has the slots to fill,
// queued those to read, the newest first. The slot that was released last is filled first, and one that was never
// filled only if no other is free: so the queue touches only as much memory as it needs.
type queue struct {
	slots  []slot
	_      [64]byte
	free   atomic.Uint64 // a slot's number, and a count of changes against the ABA problem
	used   atomic.Uint32 // slots that were filled before, the first ones
	_      [64]byte
	queued atomic.Uint32 // a slot's number
	_      [64]byte
}

// slot holds one record. Its number is its index plus one; 0 means none.
type slot struct {
	next atomic.Uint32 // in the list
	Record
}

func newQueue(size int) *queue { return &queue{slots: make([]slot, size)} }

func (q *queue) slot(n uint32) *slot { return &q.slots[n-1] }

// put queues a record, and reports whether there was room. first reports that the queue was empty, so the reader must
// be woken.
func (q *queue) put(r *Record) (ok, first bool) {
	n := q.acquire()
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

// acquire takes a free slot, or returns 0.
func (q *queue) acquire() uint32 {
	for {
		head := q.free.Load()
		n := uint32(head)
		if n == 0 {
			return q.extend()
		}
		next := (head>>32+1)<<32 | uint64(q.slot(n).next.Load())
		if q.free.CompareAndSwap(head, next) {
			return n
		}
	}
}

// extend takes a slot that was never filled, or returns 0.
func (q *queue) extend() uint32 {
	for {
		n := q.used.Load()
		if n == uint32(len(q.slots)) {
			return 0
		}
		if q.used.CompareAndSwap(n, n+1) {
			return n + 1
		}
	}
}

// takeAll takes all queued records, and returns the number of the oldest slot, which links to the next one, or 0. The
// caller releases each slot.
func (q *queue) takeAll() (first uint32) {
	for n := q.queued.Swap(0); n != 0; {
		s := q.slot(n)
		older := s.next.Load()
		s.next.Store(first)
		n, first = older, n
	}
	return first
}

// release returns a slot to the free list, and returns the number of the next slot.
func (q *queue) release(n uint32) (next uint32) {
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
