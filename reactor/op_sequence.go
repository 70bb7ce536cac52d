//go:build linux

package reactor

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
)

// sequence is an operation of many items.
type sequence[T any] struct {
	op
	r seq.Receiver[T]
}

// env returns the environment of the receiver.
func (o *sequence[T]) env() sender.Env {
	if o.loop == nil || o.r == nil {
		panicUnconnected(o.loop, o.r == nil)
	}
	return o.r.Env()
}

// Scheduler implements [seq.Granter]: it returns the loop.
func (o *sequence[T]) Scheduler() sender.Scheduler { return o.loop }

// complete makes the operation idle, and completes as out says.
func (o *sequence[T]) complete(out outcome) {
	o.release()
	switch err := o.errorOf(out); {
	case out.done():
		o.r.SetValue(struct{}{})
	case err != nil:
		o.r.SetError(err)
	default:
		o.r.SetStopped()
	}
}

// beginDelivery prepares for the delivery of the item of a final completion, and endDelivery follows it. If a function
// of the receiver's ends the goroutine in between by runtime.Goexit, the loop lets the operation proceed.
func (o *op) beginDelivery() {
	o.state = opDelivering
	o.loop.delivering = o
}

func (o *op) endDelivery() {
	o.state = opSettled
	o.loop.delivering = nil
}

// credit counts the items that a sequence may still deliver.
type credit struct {
	left    int32
	initial int32
	spent   int32 // by the last item
	waits   bool  // the sequence is dormant until credit is granted
}

func (c *credit) init(n int) { c.initial, c.spent = int32(min(max(n, 1), Unlimited)), 0 }

func (c *credit) reset() { c.left, c.waits = c.initial, false }

// Credits implements [seq.Granter]: it returns the credit that the item delivered last has used up, and 0 if the credit
// is [Unlimited].
func (c *credit) Credits() int { return int(c.spent) }

// add adds to the credit, and reports whether a sequence that waits for it can be armed again.
func (c *credit) add(n int) bool {
	if c.initial != Unlimited {
		c.left = int32(min(int64(c.left)+int64(min(n, Unlimited)), Unlimited-1))
	}
	return c.waits && c.left > 0
}

// held returns the credit that was used up and not granted again.
func (c *credit) held() int32 { return c.initial - c.left }

// spend takes n from the credit for an item that is about to be delivered.
func (c *credit) spend(n int) {
	if c.initial != Unlimited {
		c.left -= int32(n)
		c.spent = int32(n)
	}
}

// grant adds n to the credit c of the sequence o, and arms that if it waited for it.
func (o *op) grant(c *credit, n int) {
	o.loop.assertOnThread()
	if c.add(n) && o.state == opDormant {
		o.rearm(o.run())
	}
}

// awaitCredit makes the sequence dormant until credit is granted, if it waits.
func (o *op) awaitCredit(c *credit, waits bool) bool {
	if c.waits = waits; waits {
		o.state = opDormant
	}
	return waits
}
