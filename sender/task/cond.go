package task

import (
	"sync"
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// Cond lets tasks of one thread wait until something has changed that they share, such as those of a reactor's loop:
//
//	for len(free) == 0 {
//		if _, err := task.Await(t, cond.Wait()); err != nil {
//			return err
//		}
//	}
//
// It needs no lock next to it, as sync.Cond does: on one thread nothing changes between the test and Wait. With tasks
// on several threads, use a [Queue]. So Signal and Broadcast panic off the thread of a [CoroutineScheduler] whose tasks
// have waited. The zero Cond is ready. It must not be copied.
//
// An operation that waits completes inside Signal, Broadcast or RequestStop; a task continues on its own scheduler.
type Cond struct {
	mu     sync.Mutex // stop requests come from any thread
	list   intrusive.List
	waits  uint64         // how often Wait was started
	thread *CoroutinePool // of the tasks that have waited; nil: not known
}

// Wait returns a sender that completes when it is woken by Signal or Broadcast.
//
// Cancellation: a stop request ends the wait, and completes it stopped. It takes no Signal away from another task.
func (c *Cond) Wait() WaitSender { return WaitSender{c} }

// Signal wakes the task that has waited longest, if one waits.
func (c *Cond) Signal() {
	c.check()
	c.wake(^uint64(0))
}

// Broadcast wakes all tasks that wait.
func (c *Cond) Broadcast() {
	c.check()
	c.mu.Lock()
	last := c.waits
	c.mu.Unlock()
	c.wakeAll(last)
}

// wakeAll wakes those that began to wait up to the last. It continues if a receiver ends this frame by runtime.Goexit.
func (c *Cond) wakeAll(last uint64) {
	returned := false
	defer aftergoexit.Run(&returned, func() { c.wakeAll(last) })
	for c.wake(last) {
	}
	returned = true
}

// wake wakes the first that waits, if it is not behind the last.
func (c *Cond) wake(last uint64) bool {
	c.mu.Lock()
	op := (*WaitOp)(unsafe.Pointer(intrusive.Owner[waiter](c.list.First(), unsafe.Offsetof(waiter{}.links))))
	if op == nil || op.number > last {
		c.mu.Unlock()
		return false
	}
	takeWaiter(&c.list)
	c.mu.Unlock()
	op.onStop.Deregister()
	op.r.SetValue(struct{}{})
	return true
}

// check panics on a thread that is not that of the tasks, as long as that runs.
func (c *Cond) check() {
	c.mu.Lock()
	p := c.thread
	c.mu.Unlock()
	if p != nil && p.goroutine != 0 && !p.here() {
		panic("task: Signal or Broadcast of a Cond off the thread of its tasks, which could miss it: " +
			"have their scheduler do it with sender.Execute(scheduler, …), or use a Queue")
	}
}

// bind makes p the thread of the tasks; nil if it is not known. With the lock held.
func (c *Cond) bind(p *CoroutinePool) {
	if p != c.thread && !c.list.Empty() {
		c.mu.Unlock()
		panic("task: tasks of several threads wait for a Cond, and could miss a Signal: use a Queue, or a Cond for each")
	}
	c.thread = p
}

// WaitSender is the sender that [Cond.Wait] returns.
type WaitSender struct{ c *Cond }

// WaitOp is the operation state of [WaitSender].
type WaitOp struct {
	waiter // the first field
	c      *Cond
	number uint64 // of the wait
	r      sender.Receiver[struct{}]
}

// Connect implements [sender.Sender].
func (s WaitSender) Connect(op *WaitOp, r sender.Receiver[struct{}]) sender.Operation {
	op.c, op.r = s.c, r
	return op
}

// Start implements [sender.Operation].
func (op *WaitOp) Start() {
	c, env := op.c, op.r.Env()
	op.register(&c.mu, &c.list, env.StopToken(), op)
	c.mu.Lock()
	if op.state == waiterStopped {
		c.mu.Unlock()
		op.onStop.Deregister()
		op.r.SetStopped()
		return
	}
	if e, ok := env.(*awaitEnv); ok {
		c.bind(e.pool())
	}
	c.waits++
	op.number = c.waits
	op.wait()
	c.mu.Unlock()
}

// OnStop implements [stop.Handler].
func (op *WaitOp) OnStop() {
	if op.stop() {
		op.onStop.Deregister()
		op.r.SetStopped()
	}
}
