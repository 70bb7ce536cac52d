//go:build linux

package reactor

import (
	"syscall"
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/sender"
)

// OffloadSender runs a func on a worker thread. See [Offload].
type OffloadSender[T any] struct {
	affine
	l *Loop
	f func() (T, error)
}

// Offload returns a sender that runs f, which may block, on a worker thread and completes with its result on the loop's
// thread. At most [LoopConfig.MaxOffloads] of them run at a time, in the order in which they were started.
//
// When it is stopped before f has begun, f is not called. Once f has begun its result is delivered: f learns of the
// stop only if it looks at the token itself. A loop that drains waits for those that have begun.
//
// If f calls runtime.Goexit the error is [sender.ErrGoexit]; if it panics, so does the program.
//
// It is for calls that io_uring has no opcode for.
func Offload[T any](l *Loop, f func() (T, error)) OffloadSender[T] {
	if f == nil {
		panic("reactor: Offload of a nil func: give it one that does the work")
	}
	return OffloadSender[T]{l: l, f: f}
}

// Connect implements [sender.Sender].
func (c OffloadSender[T]) Connect(op *OffloadOp[T], r sender.Receiver[T]) sender.Operation {
	op.f = c.f
	op.loop, op.r = c.l, r
	if op.job.do == nil {
		op.job.do = op.call
	}
	op.job.connect(&op.op)
	return op
}

// OffloadOp is the operation state of [Offload].
type OffloadOp[T any] struct {
	single[T]
	job job
	f   func() (T, error)
	v   T
	err error
}

// Start begins, or waits until a worker thread is free. It may be called again after each completion.
func (o *OffloadOp[T]) Start() { o.job.start(o, o.env()) }

// call runs on a worker thread.
func (o *OffloadOp[T]) call() {
	o.err = sender.ErrGoexit // unless f returns
	o.v, o.err = o.f()
}

func (o *OffloadOp[T]) onCompletion(out outcome) {
	v, err := o.v, o.err
	var none T
	o.v, o.err = none, nil
	o.job.end()
	o.release()
	if out.done() && err != nil {
		o.r.SetError(err)
		return
	}
	o.report(v, out)
}

// job lets an operation call a func on a worker thread. While it waits in the queue the operation is dormant, so that a
// cancel ends it; from then on it is settled, so that none does.
type job struct {
	op     *op
	do     func()      // called on the worker thread
	run    func()      // do, and then a post to the loop
	done   sender.Work // that post
	links  intrusive.Links
	queued bool
}

// jobQueue holds the jobs of a loop that have not begun, in order.
type jobQueue struct {
	waiting intrusive.List
	running int
}

// connect prepares the job of op, whose do is set.
func (j *job) connect(op *op) {
	op.sqe.PrepNop() // an opcode that every ring has; the entry is not pushed
	if j.run == nil {
		j.run = func() {
			defer j.op.loop.Enqueue(&j.done) // also if do ends its goroutine
			j.do()
		}
	}
	j.op, j.done.Runner = op, (*jobDone)(j)
}

// start publishes the operation.
func (j *job) start(run operation, env sender.Env) {
	o, token := j.op, env.StopToken()
	if !o.begin(run, token) {
		return
	}
	o.state = opDormant
	q := &o.loop.jobs
	q.add(j)
	o.watch(token)
	q.dispatch(o.loop)
}

// end takes the job out of the queue before the operation completes.
func (j *job) end() {
	if j.queued {
		j.op.loop.jobs.remove(j)
	}
}

func (q *jobQueue) add(j *job) {
	j.queued = true
	q.waiting.PushBack(&j.links)
}

func (q *jobQueue) remove(j *job) {
	j.queued = false
	q.waiting.Remove(&j.links)
}

// dispatch begins as many as may run. Those that are being cancelled are skipped.
func (q *jobQueue) dispatch(l *Loop) {
	for !q.waiting.Empty() && q.running < l.cfg.MaxOffloads {
		j := intrusive.Owner[job](q.waiting.First(), unsafe.Offsetof(job{}.links))
		q.remove(j)
		if j.op.state == opDormant {
			j.op.state = opSettled
			q.running++
			l.sys.Offload(j.run)
		}
	}
}

// jobDone is a job as the work that is posted to its loop when it was done.
type jobDone job

// Run completes the operation.
func (d *jobDone) Run() {
	o := d.op
	q := &o.loop.jobs
	q.running--
	q.dispatch(o.loop)
	o.run().onCompletion(outcome{kind: outcomeDone})
}

// Abandon does nothing: the loop has ended, and has counted the operation as leaked.
func (d *jobDone) Abandon(error) {}

// outcomeOfJob returns the outcome of a system call that a worker thread has made, which failed with err or, if that is
// nil, did not.
func (o *op) outcomeOfJob(err error) outcome {
	out := outcomeOf(resultOf(err))
	if o.over() && (out.is(syscall.EINTR) || out.is(syscall.ECANCELED)) {
		return o.cancelled()
	}
	return out
}
