package task

import (
	"runtime"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// T is a task in progress. It is given to the task's function, and is of use to nobody else, nor when
// that has returned.
type T struct {
	task  task
	env   sender.Env       // the receiver's
	sch   sender.Scheduler // where the task runs
	work  sender.Work      // its turn there
	co    *coroutine       // what it runs on, from its first turn to its last
	wait  *await           // what it is suspended in
	token stop.Token       // for what it awaits
	err   error            // what the function returned

	running  bool // the function has its turn
	awaiting bool // it is inside Await
	ended    bool // it has returned
	fate     fate
}

// task is what a T is part of.
type task interface {
	// call runs the function.
	call() error
	// complete calls the receiver. Nothing touches the T after it.
	complete(err error)
}

// fate is whether the task still has a scheduler to run on.
type fate uint8

const (
	alive   fate = iota
	cut          // it has none: what is awaited from now on ends the function
	leaving      // it is doing so
)

// StopToken tells whether the task's result is still wanted. It is the receiver's token, or inside of
// Unstoppable one that never stops.
func (t *T) StopToken() stop.Token { return t.token }

// Scheduler is where the task runs.
func (t *T) Scheduler() sender.Scheduler { return t.sch }

// Env is the environment of what the task awaits.
func (t *T) Env() sender.Env { return (*env)(t) }

// env is a T as an environment.
type env T

func (e *env) StopToken() stop.Token       { return e.token }
func (e *env) Scheduler() sender.Scheduler { return e.sch }
func (e *env) Value(key any) any           { return e.env.Value(key) }

// start has the scheduler give the task its first turn.
func (t *T) start(task task, env sender.Env) {
	if debug && t.co != nil {
		panic("task: Start of a task that is in flight")
	}
	t.task, t.env, t.token = task, env, env.StopToken()
	t.err, t.ended, t.fate = nil, false, alive
	if t.sch = env.Scheduler(); t.sch == nil {
		t.sch = inline{}
	}
	t.work.Runner = (*firstTurn)(t)
	t.sch.Enqueue(&t.work)
}

// firstTurn is a T as the work that begins it.
type firstTurn T

func (f *firstTurn) Run() {
	t := (*T)(f)
	if !t.token.StopRequested() {
		t.co = coroutineOn(t.sch)
	}
	if t.co == nil {
		t.task.complete(sender.ErrStopped)
		return
	}
	t.co.t = t
	t.work.Runner = (*turn)(t)
	t.drive()
}

func (f *firstTurn) Abandon() { f.task.complete(sender.ErrStopped) }

// turn is a T as the work that resumes it.
type turn T

func (w *turn) Run() { (*T)(w).drive() }

// Abandon cuts the task short: its scheduler is gone.
func (w *turn) Abandon() {
	t := (*T)(w)
	if t.fate = cut; t.co.here() {
		t.drive()
		return
	}
	// The thread that alone could resume the coroutine has gone without ending it.
	t.co = nil
	t.task.complete(sender.ErrStopped)
}

// drive gives the function its turn, until it is suspended or has returned. It is called on the
// scheduler, never from inside a completion.
func (t *T) drive() {
	for {
		t.running = true
		t.co.resume()
		t.running = false
		if t.ended {
			t.finish()
			return
		}
		// What it waits for may be there already. If not, whoever completes it has the next turn
		// enqueued, perhaps at once and on another thread.
		if t.wait.park() {
			return
		}
	}
}

// finish lets go of the coroutine and completes.
func (t *T) finish() {
	co, err := t.co, t.err
	t.co, t.wait, t.err = nil, nil, nil
	co.release(t.fate == alive)
	t.task.complete(err)
}

// suspend ends the function's turn until w has its result, or the task is cut short.
func (t *T) suspend(w *await) {
	t.co.assertHere()
	t.wait = w
	t.co.suspend()
}

// ending is what Await does in a task that has been cut short: it ends the function, or returns if the
// function is ending already.
func (t *T) ending() {
	if t.fate == cut {
		t.fate = leaving
		runtime.Goexit()
	}
}

// inline is the scheduler of a task that has none.
type inline struct{}

func (inline) Enqueue(w *sender.Work) { w.Runner.Run() }
