package sender

// hop is a receiver that takes a result to a scheduler's resource and delivers it there. A stop
// request does not touch it any more: the work is done, and its result is not thrown away.
type hop[T any] struct {
	work   Work
	sch    Scheduler
	r      Receiver[T]
	result result[T]
}

// connect makes h ready to take a result to r on sch.
func (h *hop[T]) connect(sch Scheduler, r Receiver[T]) {
	h.sch, h.r = sch, r
	h.work = Work{Runner: (*hopRunner[T])(h)}
}

func (h *hop[T]) arrive(x result[T]) {
	h.result = x
	h.sch.Enqueue(&h.work)
}

func (h *hop[T]) SetValue(v T)       { h.arrive(valueOf(v)) }
func (h *hop[T]) SetError(err error) { h.arrive(errorOf[T](err)) }
func (h *hop[T]) SetStopped()        { h.arrive(result[T]{}) }
func (h *hop[T]) Env() Env           { return h.r.Env() }

// hopRunner is the scheduler's view of a hop.
type hopRunner[T any] hop[T]

func (h *hopRunner[T]) Run() {
	x := h.result
	h.result = result[T]{}
	x.deliver(h.r)
}

func (h *hopRunner[T]) Abandon(reason error) {
	h.result = result[T]{}
	Abandon(h.r, reason)
}

func (h *hopRunner[T]) Continues() bool { return true }
