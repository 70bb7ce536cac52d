package sender

import "github.com/reactord/reactord/sender/stop"

// StartsOn returns a sender that starts s on the resource of sch. sch is also the scheduler of the environment of s.
//
// Completion: as and where s completes. If sch is shutting down, s is not started and it completes stopped, where sch
// calls [Runner].Abandon; if sch refuses the work, with the reason.
//
// Cancellation: by s. If stop is requested before sch runs the work, s is not started and it completes stopped:
// inside Start, or on sch.
//
// Source: P2300R10 [exec.starts.on].
func StartsOn[T, O any, S Sender[T, O]](sch Scheduler, s S) StartsOnSender[T, O, S] {
	return StartsOnSender[T, O, S]{sch, s}
}

// StartsOnSender is the sender that [StartsOn] returns.
type StartsOnSender[T, O any, S Sender[T, O]] struct {
	sch Scheduler
	s   S
}

// StartsOnOp is the operation state of [StartsOnSender].
type StartsOnOp[T, O any] struct {
	start Operation // starts child
	child O
	work  Work
	env   startedEnv[T]
	began bool // start was started
}

// Connect implements [Sender].
func (s StartsOnSender[T, O, S]) Connect(op *StartsOnOp[T, O], r Receiver[T]) Operation {
	op.env = startedEnv[T]{r, s.sch}
	op.work = Work{Runner: (*startsOnRunner[T, O])(op)}
	op.start = s.s.Connect(&op.child, &op.env)
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *StartsOnSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return min(schedulerBehavior(s.sch), CompletionBehaviorOf(&s.s))
}

// Start implements [Operation].
func (op *StartsOnOp[T, O]) Start() {
	op.began = false
	if op.env.StopToken().StopRequested() {
		op.env.SetStopped()
		return
	}
	op.env.sch.Enqueue(&op.work)
}

// Began reports whether the child's work has begun since Start: see [SpawnOr].
func (op *StartsOnOp[T, O]) Began() bool { return op.began && began(op.start) }

// startsOnRunner is the work that the scheduler runs.
type startsOnRunner[T, O any] StartsOnOp[T, O]

func (op *startsOnRunner[T, O]) Run() {
	if op.env.StopToken().StopRequested() {
		op.env.SetStopped()
		return
	}
	op.began = true
	op.start.Start()
}

func (op *startsOnRunner[T, O]) Abandon(reason error) { CompleteAbandoned(op.env.Receiver, reason) }

// startedEnv is a receiver with another environment. It is this environment itself.
type startedEnv[T any] struct {
	Receiver[T]
	sch Scheduler
}

func (e *startedEnv[T]) Env() Env              { return e }
func (e *startedEnv[T]) StopToken() stop.Token { return e.Receiver.Env().StopToken() }
func (e *startedEnv[T]) Scheduler() Scheduler  { return e.sch }
func (e *startedEnv[T]) Value(key any) any     { return e.Receiver.Env().Value(key) }
