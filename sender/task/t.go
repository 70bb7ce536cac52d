package task

import (
	"runtime"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// T is a task that runs. It is the argument of the task's function. Only that function may use it, until it returns.
type T struct {
	task  task             // nil: idle
	env   sender.Env       // the receiver's
	sch   sender.Scheduler // where the task runs
	work  sender.Work      // begins the task there; the coroutine's resumption resumes it
	co    *coroutine       // what it runs on, from its begin to its completion
	wait  *await           // the operation that it is suspended for; nil: nothing, and it is to be resumed
	token stop.Token       // for what it awaits
	err   error            // what the function returned; before that, why the task was abandoned

	running  bool // the function runs
	awaiting bool // it is inside Await
	shielded bool // it is inside Unstoppable
	returned bool // the function has returned
	began    bool // the function was called; only of an Op
	fate     fate
}

// task is the operation that a T is part of.
type task interface {
	// call calls the function.
	call() error
	// complete completes the receiver.
	complete(err error)
}

// fate says whether the task still has a scheduler to run on:
//
//	alive --the scheduler abandons the task--> abandoned --the next Await--> unwinding
type fate uint8

const (
	alive     fate = iota
	abandoned      // it has no scheduler: the next Await ends the function
	unwinding      // an Await has ended the function, and its deferred functions run
)

// StopToken returns the token that reports whether the task is requested to stop. It stops when the receiver's token
// does and, if that token can stop, when the pool of a [CoroutineScheduler] drains. Inside [Unstoppable] it never
// stops.
func (t *T) StopToken() stop.Token { return t.token }

// Scheduler returns the scheduler that the task runs on.
func (t *T) Scheduler() sender.Scheduler { return t.sch }

// Env returns the environment of what the task awaits.
func (t *T) Env() sender.Env { return &t.co.env }

// Running reports whether the caller is the task's function, which may await. It is called on the thread of the task's
// scheduler, for example by code that the function calls and that other work of the scheduler calls too.
func (t *T) Running() bool { return t.running && !t.awaiting }

// start makes the scheduler begin the task.
func (t *T) start(task task, env sender.Env) {
	if t.task != nil {
		panic("task: Start of a task that has not completed: use one operation state for each task in flight")
	}
	t.task, t.env, t.token = task, env, env.StopToken()
	t.err, t.shielded, t.returned, t.fate = nil, false, false, alive
	if t.sch = env.Scheduler(); t.sch == nil {
		t.sch = inline{}
	}
	t.work.Runner = (*beginning)(t)
	t.sch.Enqueue(&t.work)
}

// beginning is the work that begins a task.
type beginning T

func (b *beginning) Run() {
	t := (*T)(b)
	if !t.token.StopRequested() {
		t.co = coroutineOn(t.sch)
	}
	if t.co == nil {
		t.complete(sender.ErrStopped)
		return
	}
	t.co.begin(t)
	t.resume()
}

func (b *beginning) Abandon(reason error) { (*T)(b).complete(abandonReason(reason)) }

// resumption is the work that resumes the task of a coroutine.
type resumption coroutine

// Run does nothing if the task was abandoned while its resumption was enqueued.
func (w *resumption) Run() {
	if w.t != nil {
		w.t.resume()
	}
}

// Abandon abandons the task. A task in a CoroutinePool is abandoned by CoroutinePool.Abandon, before or after this,
// because this call may be on another thread.
func (w *resumption) Abandon(reason error) {
	if w.pool == nil {
		w.t.abandon(reason)
	}
}

// ExemptFromLimit implements [sender.LimitExempter]: a task that has begun is not refused because of a limit.
func (w *resumption) ExemptFromLimit() bool { return true }

// abandon resumes the function, which is suspended, so that it ends. It is called where the coroutine can be resumed.
func (t *T) abandon(reason error) {
	t.fate, t.err = abandoned, reason
	if t.wait != nil {
		t.wait.abandon()
	}
	t.resume()
}

// abandonReason returns the reason for which a task was abandoned: reason, or [sender.ErrStopped] if it is nil.
func abandonReason(reason error) error {
	if reason == nil {
		return sender.ErrStopped
	}
	return reason
}

// resume runs the function until it is suspended or has returned. It is called on the scheduler, never from inside a
// completion.
func (t *T) resume() {
	for {
		t.running = true
		t.co.resume()
		t.running = false
		if t.returned {
			t.finish()
			return
		}
		if t.co.outside != nil {
			t.co.start()
		}
		// The operation may have completed already. If not, its completion enqueues the resumption, possibly
		// immediately and on another thread.
		if t.wait != nil && t.wait.setSuspended() {
			return
		}
	}
}

// finish releases the coroutine and completes.
func (t *T) finish() {
	co, err := t.co, t.err
	t.co, t.wait, t.token, t.err = nil, nil, stop.Token{}, nil
	co.release(t.fate == alive)
	t.complete(err)
}

// complete completes the receiver. Nothing touches t after it.
func (t *T) complete(err error) {
	task := t.task
	t.task = nil
	task.complete(err)
}

// suspend suspends the function until w has completed, or the task is abandoned.
func (t *T) suspend(w *await) {
	t.wait = w
	t.co.suspend()
}

// maxUnwound is how often deferred functions may await while their function is unwound. More are a loop that does not
// end, which would block the scheduler.
const maxUnwound = 1 << 17

// unwind ends the function of a task that has been abandoned, or returns if it is ending already. Await calls it.
func (t *T) unwind() {
	if t.fate == abandoned {
		t.fate, t.co.unwound = unwinding, 0
		runtime.Goexit()
	}
	if t.co.unwound++; t.co.unwound > maxUnwound {
		t.co.strand()
	}
}

// inline is the scheduler of a task that has none.
type inline struct{}

func (inline) Enqueue(w *sender.Work) { w.Runner.Run() }
