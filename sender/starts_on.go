package sender

import "github.com/reactord/reactord/sender/stop"

// StartsOn starts s on the resource of sch, which is also the scheduler of its environment, and
// completes as and where s does. If stop is requested before its turn comes, or if sch is shutting
// down, s is not started and it completes stopped: inside Start, or where sch runs or abandons it. If
// sch refuses it, it completes there with the reason: see Runner. Nothing is allocated.
//
// Source: P2300R10 [exec.starts.on].
func StartsOn[T, O any, S Sender[T, O]](sch Scheduler, s S) StartsOnSender[T, O, S] {
	return StartsOnSender[T, O, S]{sch, s}
}

// StartsOnSender is what StartsOn returns.
type StartsOnSender[T, O any, S Sender[T, O]] struct {
	sch Scheduler
	s   S
}

// StartsOnOp is the operation state of StartsOn.
type StartsOnOp[T, O any] struct {
	start Operation // starts child
	child O
	work  Work
	env   startedEnv[T]
}

// Connect implements Sender.
func (s StartsOnSender[T, O, S]) Connect(op *StartsOnOp[T, O], r Receiver[T]) Operation {
	op.env = startedEnv[T]{r, s.sch}
	op.work = Work{Runner: (*startsOnRunner[T, O])(op)}
	op.start = s.s.Connect(&op.child, &op.env)
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *StartsOnSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return min(completionOn(s.sch), CompletionBehaviorOf(&s.s))
}

// Start implements Operation.
func (op *StartsOnOp[T, O]) Start() {
	if op.env.StopToken().StopRequested() {
		op.env.SetStopped()
		return
	}
	op.env.sch.Enqueue(&op.work)
}

// startsOnRunner is the scheduler's view of the operation.
type startsOnRunner[T, O any] StartsOnOp[T, O]

func (op *startsOnRunner[T, O]) Run() {
	if op.env.StopToken().StopRequested() {
		op.env.SetStopped()
		return
	}
	op.start.Start()
}

func (op *startsOnRunner[T, O]) Abandon(reason error) { Abandon(op.env.Receiver, reason) }

// startedEnv is a receiver with another environment, which it is itself.
type startedEnv[T any] struct {
	Receiver[T]
	sch Scheduler
}

func (e *startedEnv[T]) Env() Env              { return e }
func (e *startedEnv[T]) StopToken() stop.Token { return e.Receiver.Env().StopToken() }
func (e *startedEnv[T]) Scheduler() Scheduler  { return e.sch }
func (e *startedEnv[T]) Value(key any) any     { return e.Receiver.Env().Value(key) }
