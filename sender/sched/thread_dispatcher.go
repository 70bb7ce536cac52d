package sched

import (
	"runtime"
	"sync"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// ThreadDispatcher is a [sender.Scheduler] with a fixed number of OS threads that take work from one intrusive list,
// the latest first. Its own senders complete with the number of the thread that they run on.
//
// It is not fair: work may wait for as long as newer work comes. [ThreadPool] is fair.
//
// Allocation: Enqueue allocates nothing, because the list links the operation states.
//
// Source: the thread_dispatcher of P1525R1 Appendix C. That one forgets work that is enqueued after it has been
// stopped; here this work is abandoned.
type ThreadDispatcher struct {
	mu      sync.Mutex
	more    sync.Cond
	head    *sender.Work
	phase   phase
	threads sync.WaitGroup
}

// NewThreadDispatcher starts a dispatcher with n threads. (The paper has two.) The caller must Close it.
func NewThreadDispatcher(n int) *ThreadDispatcher {
	d := new(ThreadDispatcher)
	d.more.L = &d.mu
	for id := range n {
		d.start(id + 1)
	}
	return d
}

// Enqueue implements [sender.Scheduler]. The dispatcher abandons w immediately: with [sender.ErrStopped] while it is
// being closed, with [sender.ErrClosed] after that.
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

// Close abandons work that comes later, and returns when all enqueued work has run. It may be called from any thread
// except the dispatcher's own, and repeatedly.
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

// numbered is work that gets the number of the thread that runs it.
type numbered interface{ runOn(id int) }

// start starts the thread with this number.
func (d *ThreadDispatcher) start(id int) { d.threads.Go(func() { d.run(id) }) }

// run runs the enqueued work on a thread. If runtime.Goexit ends its goroutine, another thread replaces it.
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

// next waits for work and takes it. It returns nil when the dispatcher is closed and empty.
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

// Schedule returns a sender that completes on one of the dispatcher's threads, with the number of that thread, from
// 1.
//
// Completion: otherwise as [sender.Schedule].
//
// Cancellation: as [sender.Schedule].
func (d *ThreadDispatcher) Schedule() DispatchSender { return DispatchSender{d} }

// DispatchSender is the sender that [ThreadDispatcher.Schedule] returns.
type DispatchSender struct{ d *ThreadDispatcher }

// DispatchOp is the operation state of [DispatchSender].
type DispatchOp struct {
	work sender.Work
	d    *ThreadDispatcher
	r    sender.Receiver[int]
}

// Connect implements [sender.Sender].
func (s DispatchSender) Connect(op *DispatchOp, r sender.Receiver[int]) sender.Operation {
	op.d, op.r = s.d, r
	op.work.Runner = (*dispatched)(op)
	return op
}

// Start implements [sender.Operation].
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
