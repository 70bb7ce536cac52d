package reactor

import (
	"syscall"

	"github.com/reactord/reactord/sender/seq"
)

// credit is how many items a sequence may still deliver.
type credit struct {
	left    int32
	initial int32
	waits   bool // the sequence is dormant for want of it
}

func (c *credit) init(n int) { c.initial = int32(min(max(n, 1), Unlimited)) }

func (c *credit) reset() { c.left, c.waits = c.initial, false }

// add adds to the credit, and reports whether a sequence that waits for it can go on.
func (c *credit) add(n int) bool {
	if c.initial != Unlimited {
		c.left = int32(min(int64(c.left)+int64(min(n, Unlimited)), Unlimited-1))
	}
	return c.waits && c.left > 0
}

// spend takes n items' credit, and reports whether none is left.
func (c *credit) spend(n int) bool {
	if c.initial != Unlimited {
		c.left -= int32(n)
	}
	return c.left <= 0
}

// sequence is an operation of many items.
type sequence[T any] struct {
	Op
	r seq.Receiver[T]
}

// start publishes an operation that takes what comes, of which a descriptor has one at a time.
func (o *sequence[T]) start(run operation) {
	if debug {
		o.assertStartable(run)
	}
	if o.on.source != nil && o.on.state == descriptorOpen {
		o.takeSlot(run)
		o.ready(-int32(syscall.EBUSY))
		return
	}
	o.on.source = &o.Op
	o.Op.start(run, o.r.Env())
}

// end makes the operation idle, and completes as its result says.
func (o *sequence[T]) end() {
	if d := o.on; d != nil && d.source == &o.Op {
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
