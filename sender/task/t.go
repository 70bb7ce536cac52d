package task

import (
	"runtime"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// T is a task in progress. It is given to the task's function, and is of use to nobody else, nor when
// that has returned.
type T struct {
	task  task             // nil: it is not in flight
	env   sender.Env       // the receiver's
	sch   sender.Scheduler // where the task runs
	work  sender.Work      // its first turn there; the others are its coroutine's
	co    *coroutine       // what it runs on, from its first turn to its last
	wait  *await           // what it is suspended in
	token stop.Token       // for what it awaits
	err   error            // what the function returned; before that, why the task was cut short

	running  bool // the function has its turn
	awaiting bool // it is inside Await
	shielded bool // it is inside Unstoppable
	ended    bool // it has returned
	fate     fate
}

// task is what a T is part of.
type task interface {
	// call runs the function.
	call() error
	// complete calls the receiver.
	complete(err error)
}

// fate is whether the task still has a scheduler to run on.
type fate uint8

const (
	alive   fate = iota
	cut          // it has none: what is awaited from now on ends the function
	leaving      // it is doing so
)

// StopToken tells whether the task's result is still wanted. It stops when the receiver's token does and, if that can
// stop at all, when a Resident scheduler drains; inside of Unstoppable it never stops.
func (t *T) StopToken() stop.Token { return t.token }

// Scheduler is where the task runs.
func (t *T) Scheduler() sender.Scheduler { return t.sch }

// Env is the environment of what the task awaits.
func (t *T) Env() sender.Env { return &t.co.env }

// start has the scheduler give the task its first turn.
func (t *T) start(task task, env sender.Env) {
	if t.task != nil {
		panic("task: Start of a task that has not completed")
	}
	t.task, t.env, t.token = task, env, env.StopToken()
	t.err, t.shielded, t.ended, t.fate = nil, false, false, alive
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
		t.complete(sender.ErrStopped)
		return
	}
	t.co.begin(t)
	t.drive()
}

func (f *firstTurn) Abandon(reason error) { (*T)(f).complete(why(reason)) }

// turn is a coroutine as the work that resumes its task.
type turn coroutine

// Run does nothing if the task was cut short while its turn was under way.
func (w *turn) Run() {
	if w.t != nil {
		w.t.drive()
	}
}

// Abandon cuts the task short: its scheduler is gone, or does not want it any more. One at home is cut short by
// Home.Abandon, which this precedes or follows, for this may be another thread.
func (w *turn) Abandon(reason error) {
	if w.home == nil {
		w.t.cut(reason)
	}
}

// Continues implements sender.LimitExempter: a task that has begun is not refused for a limit.
func (w *turn) ExemptFromLimit() bool { return true }

// cut has the function, which is suspended, run to its end. It is called where the coroutine can be resumed.
func (t *T) cut(reason error) {
	t.fate, t.err = cut, reason
	t.wait.drop()
	t.drive()
}

// why is the reason for which a task was abandoned.
func why(reason error) error {
	if reason == nil {
		return sender.ErrStopped
	}
	return reason
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
	t.co, t.wait, t.token, t.err = nil, nil, stop.Token{}, nil
	co.release(t.fate == alive)
	t.complete(err)
}

// complete calls the receiver. Nothing touches t after it.
func (t *T) complete(err error) {
	task := t.task
	t.task = nil
	task.complete(err)
}

// suspend ends the function's turn until w has its result, or the task is cut short.
func (t *T) suspend(w *await) {
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
