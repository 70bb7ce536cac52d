//go:build linux

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
	run      operation
	op       *op          // the part of run that is with the ring; nil for a timer
	nextFree uint32       // while the slot is free: the index of the next free slot, or noSlot; else see since
	gen      uint32       // of the operation that is, or will be, here
	links    [2]slotLinks // on the list of its descriptor, and while it waits for a buffer, by slotListKind
}

// slotTable holds the operations in flight. It keeps them alive for the garbage collector while only
// the ring knows of them, resolves user_data, and is the list of what must complete before a loop can end. Its
// pages never move.
type slotTable struct {
	pages []*[slotsPerPage]slot
	free  uint32 // the index of the first free slot, or noSlot
	time  uint32 // when this turn began, in slotTime
	used  int
}

// slotTime is the unit of the times in slots, as a shift: 2²⁰ ns. They wrap around after 52 days.
const slotTime = 20

// since returns when the operation in the slot was started, in slotTime.
func (s *slot) since() uint32 { return s.nextFree }

// A page of 32 KiB has no header of the allocator, which would take it to the next size.
const (
	slotsPerPage = 512
	noSlot       = ^uint32(0)
)

func (t *slotTable) init() { t.free = noSlot }

func (t *slotTable) at(i uint32) *slot { return &t.pages[i/slotsPerPage][i%slotsPerPage] }

// take puts an operation into a free slot, and returns its id.
func (t *slotTable) take(run operation, op *op) uint64 {
	if t.free == noSlot {
		t.grow()
	}
	index := t.free
	s := t.at(index)
	t.free = s.nextFree
	t.used++
	s.run, s.op, s.nextFree = run, op, t.time
	return uint64(index)<<32 | uint64(s.gen)<<8
}

func (t *slotTable) grow() {
	page, first := new([slotsPerPage]slot), uint32(len(t.pages)*slotsPerPage)
	for i := range page {
		page[i].nextFree = first + uint32(i) + 1
	}
	page[len(page)-1].nextFree = t.free
	t.free = first
	t.pages = append(t.pages, page)
}

// release frees the slot of an operation, whose id finds nothing from now on.
func (t *slotTable) release(id uint64) {
	index := slotOf(id)
	s := t.at(index)
	if assert.Enabled && t.find(id) != s {
		panic(fmt.Sprintf("reactor: slot %d released twice", index))
	}
	s.run, s.op = nil, nil
	s.gen = (s.gen + 1) & genMask
	s.nextFree, t.free = t.free, index
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
