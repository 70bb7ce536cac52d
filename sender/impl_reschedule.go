package sender

// rescheduleReceiver receives a completion, and delivers it to r on the resource of sch. A stop request does not
// affect it: the work is done, and its result is delivered.
type rescheduleReceiver[T any] struct {
	work       Work
	sch        Scheduler
	r          Receiver[T]
	completion Completion[T]
}

// init prepares x to deliver to r on sch.
func (x *rescheduleReceiver[T]) init(sch Scheduler, r Receiver[T]) {
	x.sch, x.r = sch, r
	x.work = Work{Runner: (*rescheduleRunner[T])(x)}
}

func (x *rescheduleReceiver[T]) complete(c Completion[T]) {
	x.completion = c
	x.sch.Enqueue(&x.work)
}

func (x *rescheduleReceiver[T]) SetValue(v T)       { x.complete(CompletionValue(v)) }
func (x *rescheduleReceiver[T]) SetError(err error) { x.complete(CompletionError[T](err)) }
func (x *rescheduleReceiver[T]) SetStopped()        { x.complete(CompletionStopped[T]()) }
func (x *rescheduleReceiver[T]) Env() Env           { return x.r.Env() }

// rescheduleRunner is the work that the scheduler runs.
type rescheduleRunner[T any] rescheduleReceiver[T]

func (x *rescheduleRunner[T]) Run() {
	c := x.completion
	x.completion = Completion[T]{}
	c.Deliver(x.r)
}

func (x *rescheduleRunner[T]) Abandon(reason error) {
	x.completion = Completion[T]{}
	CompleteAbandoned(x.r, reason)
}

func (x *rescheduleRunner[T]) ExemptFromLimit() bool { return true }
