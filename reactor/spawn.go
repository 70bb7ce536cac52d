package reactor

import (
	"errors"
	"fmt"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
	"github.com/reactord/reactord/timerqueue"
)

// Spawn starts a task on the loop that nobody waits for but the loop itself: see Loop.Stop. From any
// thread. An error that it returns, other than sender.ErrStopped, goes to LoopConfig.OnTaskError; without
// that the loop is stopped, and Run returns the error. If the task panics, so does the program, as for a
// goroutine. On a loop that has been stopped the task's function is not called: what such a function would
// close, an accepted connection say, takes a SpawnOr.
//
// It allocates once. What the task awaits on the loop ends, stopped, when the loop drains.
func (l *Loop) Spawn(s task.Sender) { l.SpawnOr(s, nil) }

// SpawnOr is Spawn for a task that owns something from the start: if its function is never called, because the
// loop has been stopped, otherwise is called instead, once. That is on the loop's thread, where a Close still works;
// but on the calling one if Run has returned.
func (l *Loop) SpawnOr(s task.Sender, otherwise func()) {
	sp := &spawned{loop: l, otherwise: otherwise}
	s.Connect(&sp.op, sp)
	sp.op.Start()
}

// spawned is a task with its operation state, its receiver, and that one's environment.
type spawned struct {
	sender.EmptyEnv
	op        task.Op
	loop      *Loop
	otherwise func() // nil: nothing
}

func (s *spawned) Env() sender.Env             { return s }
func (s *spawned) Scheduler() sender.Scheduler { return s.loop }
func (s *spawned) SetValue(struct{})           {}

func (s *spawned) SetStopped() {
	if s.otherwise != nil && !s.op.Began() {
		s.otherwise()
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
	switch f := l.cfg.OnTaskError; {
	case f != nil:
		f(err)
	case l.taskError == nil:
		l.taskError = fmt.Errorf("reactor: a spawned task failed, and LoopConfig.OnTaskError is nil: %w", err)
		l.Stop()
	}
}

// Coroutines is where the coroutines of the tasks on this loop live. It makes a Loop a task.Resident, and is
// for package task.
//
// From the first task on, all of them together count as one operation in flight: it is how a loop that
// drains waits for its tasks, and then ends their coroutines.
func (l *Loop) Coroutines() *task.CoroutinePool {
	switch {
	case l.tasks != nil:
	case l.phase != phaseRunning:
		l.home.Drain(nil)
	default:
		l.tasks = &residence{loop: l}
		l.tasks.id = l.slots.take(l.tasks, nil)
		l.home.Wake = l.tasks.signal
	}
	return &l.home
}

// residence is the operation that is in flight while a loop has coroutines. It finishes each time that there
// are tasks to be resumed, and once for all when the last has ended in a loop that drains.
type residence struct {
	loop     *Loop
	id       uint64
	signaled bool // it is in the loop's ready queue
	leaving  bool
	left     bool
	timer    timerqueue.Timer // for the eviction
}

// signal has onCompletion called.
func (r *residence) signal() {
	if !r.signaled {
		r.signaled = true
		r.loop.ready = append(r.loop.ready, r.id)
	}
}

// cancel is called when the loop begins to drain.
func (r *residence) cancel() {
	if r.leaving {
		return
	}
	r.leaving = true
	r.timer.Init((*eviction)(r))
	r.loop.timers.Push(&r.timer, after(r.loop.now, int64(r.loop.cfg.DrainTimeout-r.loop.aftermath())))
	r.loop.home.Drain(func() {
		r.left = true
		r.signal()
	})
}

func (r *residence) onCompletion(outcome) {
	r.signaled = false
	r.loop.home.Run()
	if r.left && !r.signaled {
		r.loop.timers.Remove(&r.timer)
		r.loop.slots.release(r.id)
		r.loop.tasks = nil
	}
}

// abandon cuts the tasks short, on a loop that goes no further.
func (r *residence) abandon() {
	if !r.leaving {
		r.loop.home.Drain(nil)
	}
	r.loop.home.Abandon()
	r.loop.slots.release(r.id)
}

// eviction is a residence as the handler of its timer: tasks that did not end in time are cut short, while
// the loop still runs: what they leave behind, closing their sockets say, has time to complete.
type eviction residence

func (e *eviction) OnTimer(now int64) {
	l := e.loop
	l.home.Abandon()
	l.timers.Update(&l.watchdog, after(now, int64(l.aftermath())))
}

var _ task.CoroutineScheduler = (*Loop)(nil)
