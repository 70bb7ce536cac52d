//go:build linux

package reactor

import (
	"errors"
	"fmt"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
	"github.com/reactord/reactord/timerqueue"
)

// Spawn starts a task on the loop. Only the loop itself waits for it: see [Loop.Stop]. From any thread.
//
// An error that the task returns, other than [sender.ErrStopped], goes to LoopConfig.OnTaskError; without that function
// the loop is stopped, and Run returns the error. If the task panics, so does the program, as for a goroutine. When the
// loop drains, what the task awaits on the loop completes stopped. On a loop that has been stopped the task's function
// is not called: if the function would close something, such as an accepted connection, use [Loop.SpawnOr].
//
// It allocates once.
func (l *Loop) Spawn(s task.Sender) { l.SpawnOr(s, nil) }

// SpawnOr spawns, as [Loop.Spawn] does, a task that owns something before it begins. If the task's function is never
// called, because the loop has been stopped, notRun is called instead, once: on the loop's thread, where a Close still
// works, or on the calling thread if Run has returned.
func (l *Loop) SpawnOr(s task.Sender, notRun func()) {
	sp := &spawned{loop: l, notRun: notRun}
	s.Connect(&sp.op, sp)
	sp.op.Start()
}

// spawned is the operation state of a spawned task, its receiver, and the receiver's environment.
type spawned struct {
	sender.EmptyEnv
	op     task.Op
	loop   *Loop
	notRun func() // may be nil
}

func (s *spawned) Env() sender.Env             { return s }
func (s *spawned) Scheduler() sender.Scheduler { return s.loop }
func (s *spawned) SetValue(struct{})           {}

func (s *spawned) SetStopped() {
	if s.notRun != nil && !s.op.Began() {
		s.notRun()
	}
}

func (s *spawned) SetError(err error) {
	if !s.op.Began() { // the loop has ended, and refused it
		s.SetStopped()
		return
	}
	if p, ok := errors.AsType[*sender.PanicError](err); ok {
		panic(fmt.Sprintf("reactor: a spawned task panicked: %v\n\n%s", p.Value, p.Stack))
	}
	l := s.loop
	if f := l.cfg.OnTaskError; f != nil {
		f(err)
		return
	}
	l.Fail(fmt.Errorf("reactor: a spawned task failed, and LoopConfig.OnTaskError is nil: %w", err))
}

// Coroutines returns the pool of the coroutines of tasks on this loop. It makes a Loop a [task.CoroutineScheduler], and
// is called by package task only.
func (l *Loop) Coroutines() *task.CoroutinePool {
	switch {
	case l.tasks != nil:
	case l.phase != phaseRunning:
		l.coroutines.Drain(nil)
	default:
		l.tasks = &taskOp{loop: l}
		l.tasks.id = l.slots.take(l.tasks, nil)
		l.coroutines.Wake = l.tasks.makeReady
	}
	return &l.coroutines
}

var _ task.CoroutineScheduler = (*Loop)(nil)

// taskOp represents all tasks of a loop as one operation in flight, from the first task on. So a loop that drains waits
// for its tasks. It finishes each time that there are tasks to resume, and for good when it is drained.
type taskOp struct {
	loop  *Loop
	id    uint64
	state taskState
	ready bool             // it is in the loop's ready queue
	abort timerqueue.Timer // bounds the drain of the tasks
}

// taskState is the state of a taskOp.
//
//	running → draining   the loop begins to drain: no further task begins, tasks are stopped, and a timer runs that
//	                     aborts them
//	draining → drained   the last coroutine has ended
type taskState uint8

const (
	tasksRunning taskState = iota
	tasksDraining
	tasksDrained
)

// makeReady lets the loop call finish.
func (t *taskOp) makeReady() {
	if !t.ready {
		t.ready = true
		t.loop.ready = append(t.loop.ready, t.id)
	}
}

// cancel stops the tasks, because the loop begins to drain.
func (t *taskOp) cancel() {
	if t.state != tasksRunning {
		return
	}
	t.state = tasksDraining
	l := t.loop
	t.abort.Init((*taskAbort)(t))
	l.timers.Push(&t.abort, after(l.now, int64(l.cfg.DrainTimeout-l.drainReserve())))
	l.coroutines.Drain(func() {
		t.state = tasksDrained
		t.makeReady()
	})
}

func (t *taskOp) onCompletion(outcome) {
	t.ready = false
	l := t.loop
	l.coroutines.Run()
	if t.state == tasksDrained && !t.ready {
		l.timers.Remove(&t.abort)
		l.slots.release(t.id)
		l.tasks = nil
	}
}

// abandon aborts the tasks of a loop that has failed.
func (t *taskOp) abandon() {
	if t.state == tasksRunning {
		t.loop.coroutines.Drain(nil)
	}
	_ = t.loop.coroutines.Abandon() // the loop reports what it has failed with
	t.loop.slots.release(t.id)
}

// taskAbort is a taskOp as the handler of its timer. It aborts tasks that did not end in time while the loop still
// runs, so that the operations that they start then, such as closing their sockets, have time to complete.
type taskAbort taskOp

func (a *taskAbort) OnTimer(now int64) {
	l := a.loop
	if err := l.coroutines.Abandon(); err != nil {
		l.failed = errors.Join(l.failed, fmt.Errorf("reactor: loop %s has drained for %v: %w", l.name,
			(l.cfg.DrainTimeout-l.drainReserve()).Round(time.Millisecond), err))
	}
	l.timers.Update(&l.watchdog, after(now, int64(l.drainReserve())))
}
