package intrusive

import "unsafe"

// Links are the neighbours of an element of a List. The zero Links are on no list.
type Links struct{ prev, next *Links }

// Next returns the element behind l, or nil.
func (l *Links) Next() *Links { return l.next }

// Prev returns the element before l, or nil.
func (l *Links) Prev() *Links { return l.prev }

// List is a doubly linked list. The zero List is empty.
type List struct{ first, last *Links }

// First returns the first element, or nil.
func (q *List) First() *Links { return q.first }

// Last returns the last element, or nil.
func (q *List) Last() *Links { return q.last }

// Empty reports whether the list has no element.
func (q *List) Empty() bool { return q.first == nil }

// Has reports whether l, which is on no other list, is on this one. It takes constant time.
func (q *List) Has(l *Links) bool { return l.prev != nil || q.first == l }

// PushFront puts l, which is on no list, before the others.
func (q *List) PushFront(l *Links) {
	l.next = q.first
	if l.next != nil {
		l.next.prev = l
	} else {
		q.last = l
	}
	q.first = l
}

// PushBack puts l, which is on no list, behind the others.
func (q *List) PushBack(l *Links) {
	l.prev = q.last
	if l.prev != nil {
		l.prev.next = l
	} else {
		q.first = l
	}
	q.last = l
}

// InsertBehind puts l, which is on no list, behind an element of the list; or before the others, if that is nil.
func (q *List) InsertBehind(before, l *Links) {
	switch before {
	case nil:
		q.PushFront(l)
	case q.last:
		q.PushBack(l)
	default:
		l.prev, l.next = before, before.next
		before.next.prev, before.next = l, l
	}
}

// Remove takes l, which is on the list, out of it.
func (q *List) Remove(l *Links) {
	if l.prev != nil {
		l.prev.next = l.next
	} else {
		q.first = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	} else {
		q.last = l.prev
	}
	l.prev, l.next = nil, nil
}

// PopFront takes the first element out of the list; nil if it is empty.
func (q *List) PopFront() *Links {
	l := q.first
	if l != nil {
		q.Remove(l)
	}
	return l
}

// Owner returns the T whose Links at the offset are l; nil if l is nil. The offset is unsafe.Offsetof of that field.
func Owner[T any](l *Links, offset uintptr) *T {
	if l == nil {
		return nil
	}
	return (*T)(unsafe.Add(unsafe.Pointer(l), -int(offset)))
}
