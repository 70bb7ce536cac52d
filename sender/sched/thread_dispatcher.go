package sched

import (
	"runtime"
	"sync"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// ThreadDispatcher is a Scheduler of a fixed number of OS threads that take work from one intrusive
// list, the latest first, so that scheduling allocates nothing: the operation states are the list. Its
// own senders complete with the number of the thread that they are on.
//
// It is not fair: what was enqueued first may wait for as long as more comes. See ThreadPool.
//
// Source: the thread_dispatcher of P1525R1 Appendix C. That one forgets what is enqueued when it has
// been stopped, which here is abandoned.
type ThreadDispatcher struct {
	mu      sync.Mutex
	more    sync.Cond
	head    *sender.Work
	phase   phase
	threads sync.WaitGroup
}

// NewThreadDispatcher starts a dispatcher of n threads (the paper has two). The caller must Close it.
func NewThreadDispatcher(n int) *ThreadDispatcher {
	d := new(ThreadDispatcher)
	d.more.L = &d.mu
	for id := range n {
		d.start(id + 1)
	}
	return d
}

// Enqueue implements sender.Scheduler. When the dispatcher is being closed or is closed, w is abandoned at
// once: with sender.ErrStopped and sender.ErrClosed.
func (d *ThreadDispatcher) Enqueue(w *sender.Work) {
	d.mu.Lock()
	if d.phase != open {
		reason := d.phase.reason()
		d.mu.Unlock()
		w.Runner.Abandon(reason)
		return
	}
	w.Next, d.head = d.head, w
	d.more.Signal()
	d.mu.Unlock()
}

// Close abandons work that comes from now on, and returns when all that was enqueued has been run. It may
// be called from any thread but the dispatcher's own, and repeatedly.
func (d *ThreadDispatcher) Close() {
	d.mu.Lock()
	d.phase = max(d.phase, closing)
	d.more.Broadcast()
	d.mu.Unlock()
	d.threads.Wait()
	d.mu.Lock()
	d.phase = closed
	d.mu.Unlock()
}

// numbered is work that wants to know which thread it is run by.
type numbered interface{ runOn(id int) }

// start starts the thread with that number.
func (d *ThreadDispatcher) start(id int) { d.threads.Go(func() { d.run(id) }) }

// run is a thread. One whose goroutine is ended by runtime.Goexit is replaced.
func (d *ThreadDispatcher) run(id int) {
	returned := false
	defer aftergoexit.Run(&returned, func() { d.start(id) })
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	for w := d.next(); w != nil; w = d.next() {
		if n, ok := w.Runner.(numbered); ok {
			n.runOn(id)
		} else {
			w.Runner.Run()
		}
	}
	returned = true
}

// next waits for work and takes it, or returns nil when the dispatcher is closed and empty.
func (d *ThreadDispatcher) next() *sender.Work {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.head == nil && d.phase == open {
		d.more.Wait()
	}
	w := d.head
	if w != nil {
		d.head, w.Next = w.Next, nil
	}
	return w
}

// Schedule completes on one of the dispatcher's threads with that thread's number, from 1. It
// completes stopped, or with the reason of a refusal, as sender.Schedule does.
func (d *ThreadDispatcher) Schedule() DispatchSender { return DispatchSender{d} }

// DispatchSender is what ThreadDispatcher.Schedule returns.
type DispatchSender struct{ d *ThreadDispatcher }

// DispatchOp is the operation state of ThreadDispatcher.Schedule. It may be started again without
// connecting it anew.
type DispatchOp struct {
	work sender.Work
	d    *ThreadDispatcher
	r    sender.Receiver[int]
}

// Connect implements sender.Sender.
func (s DispatchSender) Connect(op *DispatchOp, r sender.Receiver[int]) sender.Operation {
	op.d, op.r = s.d, r
	op.work.Runner = (*dispatched)(op)
	return op
}

// Start implements sender.Operation.
func (op *DispatchOp) Start() {
	if op.r.Env().StopToken().StopRequested() {
		op.r.SetStopped()
		return
	}
	op.d.Enqueue(&op.work)
}

type dispatched DispatchOp

func (op *dispatched) runOn(id int) {
	if op.r.Env().StopToken().StopRequested() {
		op.r.SetStopped()
		return
	}
	op.r.SetValue(id)
}

func (op *dispatched) Run()                 { panic("sched: a dispatched operation was run by another resource") }
func (op *dispatched) Abandon(reason error) { sender.CompleteAbandoned(op.r, reason) }
