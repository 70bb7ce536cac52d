//go:build linux

package epoll

import (
	"unsafe"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
)

// entries are all entries of a ring, those in flight and the free ones.
type entries struct {
	pages[uint32, entry]
	used uint32 // the highest index that was ever used
	free uint32 // the first of the free entries
}

// find returns the entry with an index; nil for index 0.
func (es *entries) find(i uint32) *entry {
	if i == 0 {
		return nil
	}
	return es.at(i)
}

// take makes an entry of a submission.
func (es *entries) take(sqe *uring.SQE) *entry {
	i := es.free
	if i == 0 {
		es.used++
		i = es.used
		if !es.has(i) {
			es.make(i)
		}
	} else {
		es.free = es.at(i).next
	}
	e := es.at(i)
	e.core = *(*core)(unsafe.Pointer(sqe))
	e.index, e.done, e.msg, e.flags = i, 0, 0, 0
	if sqe.Addr3 != 0 {
		e.flags = hasAddr3
	}
	e.to(queued)
	return e
}

// release frees an entry.
func (es *entries) release(e *entry) {
	if assert.Enabled && e.is(holdsBuffer) {
		panic("epoll: an entry is freed while it holds a buffer")
	}
	e.to(free)
	e.next = es.free
	es.free = e.index
}

// list is a FIFO of entries, linked through them: forwards to 0, and backwards from the head to the tail. It links by
// index instead of by pointer (see entry).
type list struct{ head uint32 }

// first returns the first entry of a list, or nil.
func (es *entries) first(l *list) *entry { return es.find(l.head) }

// nextOf returns the entry behind e in its list, or nil.
func (es *entries) nextOf(e *entry) *entry { return es.find(e.next) }

func (es *entries) append(l *list, e *entry) {
	e.next = 0
	if l.head == 0 {
		l.head, e.prev = e.index, e.index
		return
	}
	head := es.at(l.head)
	e.prev = head.prev
	es.at(head.prev).next = e.index
	head.prev = e.index
}

func (es *entries) remove(l *list, e *entry) {
	if e.next != 0 {
		es.at(e.next).prev = e.prev
	} else {
		es.at(l.head).prev = e.prev
	}
	if l.head == e.index {
		l.head = e.next
	} else {
		es.at(e.prev).next = e.next
	}
}
