package timerqueue

// Handler is called when a timer is due. The queue does not call it: the caller of [Queue.Pop] does.
type Handler interface {
	// OnTimer says that the deadline has passed. now is the time that Pop was called with, in nanoseconds; it is at or
	// after the deadline.
	OnTimer(now int64)
}

// Timer is an element of a [Queue]. It is usually a field of the struct that it belongs to. The zero Timer is not
// pending, and ready for Push.
type Timer struct {
	// Handler is called by the owner of the queue when the timer is due. The queue does not use it.
	Handler Handler

	deadline int64
	index    int // in the queue's heap, plus one; 0 while not pending
}

// Init sets the handler. The timer must not be pending.
func (t *Timer) Init(h Handler) {
	if t.index != 0 {
		panic("timerqueue: Init of a pending timer: call Remove first")
	}
	t.Handler = h
}

// Pending reports whether the timer is in a queue.
func (t *Timer) Pending() bool { return t.index != 0 }

// Deadline returns what the last Push or Update set, in nanoseconds. It is kept after Pop and Remove.
func (t *Timer) Deadline() int64 { return t.deadline }
