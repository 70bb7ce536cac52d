package reactor

import (
	"fmt"

	"github.com/reactord/reactord/internal/assert"
)

// The user_data of an entry is slot<<32 | generation<<8 | tag. The slot finds the operation, the
// generation tells an operation from an earlier one in the same slot, and the tag tells the entry of
// the operation itself from the one that cancels it. With the tag of the operation itself it is the
// operation's id.
const (
	tagOp     = 0
	tagCancel = 1

	genMask = 1<<24 - 1
)

// slot holds an operation in flight.
type slot struct {
	run        operation
	op         *op       // the part of run that the ring sees; nil: run has none, it waits for a timer or the like
	index      uint32    // in the table
	gen        uint32    // of the operation that is here, or will be
	prev, next *slot     // of the same descriptor, see Descriptor.slots; while free: the next free slot
	line       lineLinks // while it waits for a buffer
}

// slotTable holds the operations in flight. It keeps them alive for the garbage collector while only
// the ring knows of them, resolves user_data, and is the list of what must complete before a loop can end. Its
// pages never move.
type slotTable struct {
	pages []*[slotsPerPage]slot
	free  *slot // the first free slot; nil: none
	used  int
}

const slotsPerPage = 256

func (t *slotTable) at(i uint32) *slot { return &t.pages[i/slotsPerPage][i%slotsPerPage] }

// take puts an operation into a free slot, and returns its id.
func (t *slotTable) take(run operation, op *op) uint64 {
	if t.free == nil {
		t.grow()
	}
	s := t.free
	t.free, s.next = s.next, nil
	t.used++
	s.run, s.op = run, op
	return uint64(s.index)<<32 | uint64(s.gen)<<8
}

func (t *slotTable) grow() {
	page := new([slotsPerPage]slot)
	for i := range page {
		s := &page[len(page)-1-i]
		s.index = uint32(len(t.pages)*slotsPerPage + len(page) - 1 - i)
		s.next, t.free = t.free, s
	}
	t.pages = append(t.pages, page)
}

// release frees the slot of an operation, whose id finds nothing from now on.
func (t *slotTable) release(id uint64) {
	s := t.at(slotOf(id))
	if assert.Enabled && t.find(id) != s {
		panic(fmt.Sprintf("reactor: slot %d released twice", s.index))
	}
	s.run, s.op = nil, nil
	s.gen = (s.gen + 1) & genMask
	s.next, t.free = t.free, s
	t.used--
}

func slotOf(userData uint64) uint32 { return uint32(userData >> 32) }

// find resolves user_data; nil means that its operation has completed.
func (t *slotTable) find(userData uint64) *slot {
	i := slotOf(userData)
	if int(i/slotsPerPage) >= len(t.pages) {
		return nil
	}
	s := t.at(i)
	if s.run == nil || s.gen != uint32(userData>>8)&genMask {
		return nil
	}
	return s
}

// each calls f for every operation in flight.
func (t *slotTable) each(f func(operation)) {
	for _, page := range t.pages {
		for i := range page {
			if run := page[i].run; run != nil {
				f(run)
			}
		}
	}
}

// cancelOthers cancels the operations on d that another descriptor lists, see op.second. They are few and rare, so
// that they are searched for among all.
func (d *Descriptor) cancelOthers() {
	for _, page := range d.loop.slots.pages {
		for i := range page {
			if s := &page[i]; s.op != nil && s.op.second == d {
				s.run.cancel()
			}
		}
	}
}
