package timerqueue

import "github.com/reactord/reactord/internal/assert"

// Handler is what a timer is for. The queue never calls it: whoever pops a timer does.
type Handler interface {
	// OnTimer says that the deadline has passed. now is the time, in nanoseconds on the queue's
	// clock, at which that was noticed; it is at or after the deadline.
	OnTimer(now int64)
}

// Timer is a place in a Queue, embedded in what it belongs to. The zero Timer is not pending and
// ready for Push.
type Timer struct {
	// Handler is what the owner of the queue calls when the timer is due. The queue itself never
	// looks at it.
	Handler Handler

	deadline int64
	place    int // index in the queue's heap plus one; 0: not pending
}

// Init sets the handler. The timer must not be pending.
func (t *Timer) Init(h Handler) {
	if assert.Enabled && t.place != 0 {
		panic("timerqueue: Init of a pending timer")
	}
	t.Handler = h
}

// Pending reports whether the timer is in a queue.
func (t *Timer) Pending() bool { return t.place != 0 }

// Deadline is what the last Push or Update set, in nanoseconds. It stays readable after Pop and
// Remove.
func (t *Timer) Deadline() int64 { return t.deadline }
