package reactor

import (
	"syscall"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/uring"
)

// credit is how many items a sequence may still deliver.
type credit struct {
	left    int32
	initial int32
	spent   int32 // by the last item
	waits   bool  // the sequence is dormant for want of it
}

func (c *credit) init(n int) { c.initial, c.spent = int32(min(max(n, 1), Unlimited)), 0 }

func (c *credit) reset() { c.left, c.waits = c.initial, false }

// Credits implements seq.Granter: what the item that was delivered last has used up of the credit, and 0 if that is
// Unlimited.
func (c *credit) Credits() int { return int(c.spent) }

// add adds to the credit, and reports whether a sequence that waits for it can go on.
func (c *credit) add(n int) bool {
	if c.initial != Unlimited {
		c.left = int32(min(int64(c.left)+int64(min(n, Unlimited)), Unlimited-1))
	}
	return c.waits && c.left > 0
}

// held is how many items' credit was used up and not granted again.
func (c *credit) held() int32 { return c.initial - c.left }

// spend takes n items' credit for one that is about to be delivered.
func (c *credit) spend(n int) {
	if c.initial != Unlimited {
		c.left -= int32(n)
		c.spent = int32(n)
	}
}

// sequence is an operation of many items.
type sequence[T any] struct {
	op
	r seq.Receiver[T]
}

// Scheduler implements seq.Granter: it is the loop.
func (o *sequence[T]) Scheduler() sender.Scheduler { return o.loop }

// start publishes an operation that takes what comes, of which a descriptor has one at a time.
func (o *sequence[T]) start(run operation) {
	o.assertStartable(run)
	if o.on.source != nil && o.on.state == descriptorOpen {
		o.takeSlot(run)
		o.ready(-int32(syscall.EBUSY))
		return
	}
	o.on.source = &o.op
	o.op.start(run, o.r.Env())
}

// beginLast is called before an item of the final completion is delivered, from which on that is taken for res: it
// says nothing about the end of the sequence. endLast is called afterwards; if a function of the receiver's ends the
// frame in between by runtime.Goexit, the loop calls finish once more.
func (o *op) beginLast(res syscall.Errno) {
	o.res, o.flags = -int32(res), o.flags&^uring.CQEBuffer
	o.loop.delivering = o
}

func (o *op) endLast() { o.loop.delivering = nil }

// end makes the operation idle, and completes as its result says.
func (o *sequence[T]) end() {
	if d := o.on; d != nil && d.source == &o.op {
		d.source = nil
	}
	o.release()
	switch err := o.err(); {
	case o.res >= 0:
		o.r.SetValue(struct{}{})
	case err != nil:
		o.r.SetError(err)
	default:
		o.r.SetStopped()
	}
}
