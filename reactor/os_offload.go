package reactor

import "github.com/reactord/reactord/sender"

// offloadSender runs a func on another thread. See Offload.
type offloadSender[T any] struct {
	affine
	l *Loop
	f func() (T, error)
}

// Offload is a sender of what f returns, which runs on another thread and may block there; it completes on the
// loop's. At most LoopConfig.MaxOffloads of them run at a time, in the order in which they were started.
//
// When it is stopped before f has begun, f is not called. Once f has begun its result is delivered: f learns of
// the stop only if it looks at the token itself. A loop that drains waits for those that have begun.
//
// If f calls runtime.Goexit the error is sender.ErrGoexit; if it panics, so does the program.
//
// It is for what there is no opcode for.
func Offload[T any](l *Loop, f func() (T, error)) offloadSender[T] {
	return offloadSender[T]{l: l, f: f}
}

// Connect prepares op.
func (c offloadSender[T]) Connect(op *OffloadOp[T], r sender.Receiver[T]) sender.Operation {
	op.f = c.f
	op.loop, op.r = c.l, r
	if op.errand.do == nil {
		op.errand.do = op.call
	}
	op.errand.connect(&op.op)
	return op
}

// OffloadOp is the operation state of Offload.
type OffloadOp[T any] struct {
	single[T]
	errand errand
	f      func() (T, error)
	v      T
	err    error
}

// Start begins, or waits for its turn.
func (o *OffloadOp[T]) Start() { o.errand.start(o, o.r.Env()) }

// call runs on the other thread.
func (o *OffloadOp[T]) call() {
	o.err = sender.ErrGoexit // unless f returns
	o.v, o.err = o.f()
}

func (o *OffloadOp[T]) finish() {
	v, err := o.v, o.err
	var none T
	o.v, o.err = none, nil
	o.errand.release()
	switch {
	case o.res < 0:
		o.fail()
	case err != nil:
		o.r.SetError(err)
	default:
		o.r.SetValue(v)
	}
}

// errand is what an operation needs to have something done on another thread. While it waits for its turn the
// operation is dormant, so that a cancel ends it; from then on it is settled, so that none does.
type errand struct {
	op         *op
	do         func() // on the other thread
	run        func() // do, and then home
	home       sender.Work
	prev, next *errand // in the queue
	queued     bool
}

// errands are those of a loop.
type errands struct {
	first, last *errand // those that have not begun, in order
	running     int
}

// connect prepares the errand of op, whose do is set.
func (e *errand) connect(op *op) {
	op.sqe.PrepNop() // what is asked of every ring
	if e.run == nil {
		e.run = func() {
			defer e.op.loop.Enqueue(&e.home) // also if do ends its goroutine
			e.do()
		}
	}
	e.op, e.home.Runner = op, (*errandHome)(e)
}

// start publishes the operation.
func (e *errand) start(run operation, env sender.Env) {
	o, token := e.op, env.StopToken()
	if !o.begin(run, token) {
		return
	}
	o.state = opDormant
	q := &o.loop.errands
	q.add(e)
	o.heed(token)
	q.dispatch(o.loop)
}

// release makes the operation idle.
func (e *errand) release() {
	if e.queued {
		e.op.loop.errands.remove(e)
	}
	e.op.release()
}

func (q *errands) add(e *errand) {
	if e.queued, e.prev = true, q.last; e.prev == nil {
		q.first = e
	} else {
		e.prev.next = e
	}
	q.last = e
}

func (q *errands) remove(e *errand) {
	if e.prev == nil {
		q.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		q.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next, e.queued = nil, nil, false
}

// dispatch begins as many as may run. Those that are being cancelled are passed over.
func (q *errands) dispatch(l *Loop) {
	for q.first != nil && q.running < l.cfg.MaxOffloads {
		e := q.first
		q.remove(e)
		if e.op.state == opDormant {
			e.op.state = opSettled
			q.running++
			l.sys.Offload(e.run)
		}
	}
}

// errandHome is an errand as what comes home to its loop.
type errandHome errand

// Run finishes the operation.
func (h *errandHome) Run() {
	o := h.op
	o.loop.errands.running--
	o.loop.errands.dispatch(o.loop)
	o.res = 0
	o.loop.slots.at(slotOf(o.id)).run.finish()
}

// Abandon does nothing: the loop is gone, and has counted the operation as leaked.
func (h *errandHome) Abandon(error) {}
