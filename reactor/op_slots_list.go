//go:build linux

package reactor

// slotLinks are the neighbours of a slot on a list. They and the list name slots by their indices plus one, so that 0
// is none: half of what pointers take.
type slotLinks struct{ prev, next uint32 }

// slotList is a list of slots. The zero slotList is empty.
type slotList struct{ first, last uint32 }

// slotListKind says what a list is for. A slot is on one list of each kind at a time.
type slotListKind uint8

const (
	onDescriptor   slotListKind = iota // see Descriptor.inFlight
	awaitingBuffer                     // see slotQueue
)

// linksOf returns the links of a slot that a list names.
func (t *slotTable) linksOf(named uint32, k slotListKind) *slotLinks {
	return &t.at(named - 1).links[k]
}

// has reports whether the slot i, which is on no other list of the kind, is on q.
func (t *slotTable) has(q *slotList, k slotListKind, i uint32) bool {
	return t.at(i).links[k].prev != 0 || q.first == i+1
}

// pushFront puts the slot i, which is on no list of the kind, before the others.
func (t *slotTable) pushFront(q *slotList, k slotListKind, i uint32) {
	l := &t.at(i).links[k]
	if l.next = q.first; l.next != 0 {
		t.linksOf(l.next, k).prev = i + 1
	} else {
		q.last = i + 1
	}
	q.first = i + 1
}

// pushBack puts the slot i, which is on no list of the kind, behind the others.
func (t *slotTable) pushBack(q *slotList, k slotListKind, i uint32) {
	l := &t.at(i).links[k]
	if l.prev = q.last; l.prev != 0 {
		t.linksOf(l.prev, k).next = i + 1
	} else {
		q.first = i + 1
	}
	q.last = i + 1
}

// remove takes the slot i out of the list that it is on.
func (t *slotTable) remove(q *slotList, k slotListKind, i uint32) {
	l := &t.at(i).links[k]
	if l.prev != 0 {
		t.linksOf(l.prev, k).next = l.next
	} else {
		q.first = l.next
	}
	if l.next != 0 {
		t.linksOf(l.next, k).prev = l.prev
	} else {
		q.last = l.prev
	}
	*l = slotLinks{}
}
