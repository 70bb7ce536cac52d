package sender

import (
	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// Repeat returns a sender that connects and starts s again whenever s completes with a value. The value is dropped.
// The stack does not grow, however often s completes inside Start.
//
// Completion: with the first error or stopped of s, where s completes. It never completes with a value.
//
// The next iteration begins where s completed. If s completed inside its Start, it begins where that Start was
// called.
//
// Cancellation: by s. A stop request between two iterations completes it stopped.
//
// Allocation: Connect allocates a copy of s, once for each operation state.
//
// Source: stdexec's exec::repeat_until, libunifex's repeat_effect.
func Repeat[T, O any, S Sender[T, O]](s S) RepeatSender[T, O, S] {
	return RepeatSender[T, O, S]{s: s}
}

// RepeatUntil repeats s as [Repeat] does, and completes with the value of s when pred returns true for it.
func RepeatUntil[T, O any, S Sender[T, O]](s S, pred func(T) bool) RepeatSender[T, O, S] {
	return RepeatSender[T, O, S]{s, pred}
}

// RepeatSender is the sender that [Repeat] and [RepeatUntil] return.
type RepeatSender[T, O any, S Sender[T, O]] struct {
	s    S
	pred func(T) bool // nil: always false
}

// RepeatOp is the operation state of [RepeatSender].
type RepeatOp[T, O any] struct {
	trampolined
	child O
	s     storedSender[T, O]
	pred  func(T) bool
	r     Receiver[T]
	token stop.Token
}

// Connect implements [Sender].
func (s RepeatSender[T, O, S]) Connect(op *RepeatOp[T, O], r Receiver[T]) Operation {
	op.s, op.pred, op.r = store(op.s, s.s), s.pred, r
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *RepeatSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

// Start implements [Operation].
func (op *RepeatOp[T, O]) Start() {
	op.token = op.r.Env().StopToken()
	op.begin()
	op.run()
}

// run starts children until one does not complete inside Start, or is the last.
func (op *RepeatOp[T, O]) run() {
	t, child := op.trampoline, (*repeatReceiver[T, O])(op)
	// A user's function may end this frame by runtime.Goexit.
	returned := false
	defer aftergoexit.Run(&returned, func() {
		if t.nextChild() {
			op.run()
		}
	})
	for {
		t.beginChild()
		var start Operation
		if op.token.StopRequested() {
			child.SetStopped()
		} else if protect(func() { start = op.s.connect(&op.child, child) }, child.SetError) {
			start.Start()
		}
		// The operation may have completed, here or on another thread. From here on only t may be used.
		if !t.nextChild() {
			returned = true
			return
		}
	}
}

type repeatReceiver[T, O any] RepeatOp[T, O]

func (r *repeatReceiver[T, O]) SetValue(v T) {
	op := (*RepeatOp[T, O])(r)
	if op.pred != nil {
		done := false
		if !protect(func() { done = op.pred(v) }, r.SetError) {
			return
		}
		if done {
			op.finish()
			op.r.SetValue(v)
			return
		}
	}
	if !op.trampoline.completeChild() {
		op.run()
	}
}

func (r *repeatReceiver[T, O]) SetError(err error) {
	r.finish()
	r.r.SetError(err)
}

func (r *repeatReceiver[T, O]) SetStopped() {
	r.finish()
	r.r.SetStopped()
}

func (r *repeatReceiver[T, O]) Env() Env { return r.r.Env() }
