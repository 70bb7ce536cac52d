package sender

import (
	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// Repeat connects and starts s again whenever it completes with a value, which is dropped, and ends
// when s completes with an error or stopped, or when stop was requested between two rounds. It never
// completes with a value.
//
// A round begins where the previous one completed, unless that happened before its Start returned:
// then where that Start was called. However many rounds complete at once, the stack does not grow. It
// completes where the last round does. Connect allocates a copy of s, once for each operation state.
//
// Source: stdexec's exec::repeat_until, libunifex's repeat_effect.
func Repeat[T, O any, S Sender[T, O]](s S) RepeatSender[T, O, S] {
	return RepeatSender[T, O, S]{s: s}
}

// RepeatUntil is Repeat that ends, with the value, when pred of it is true.
func RepeatUntil[T, O any, S Sender[T, O]](s S, pred func(T) bool) RepeatSender[T, O, S] {
	return RepeatSender[T, O, S]{s, pred}
}

// RepeatSender is what Repeat and RepeatUntil return.
type RepeatSender[T, O any, S Sender[T, O]] struct {
	s    S
	pred func(T) bool // nil: never
}

// RepeatOp is the operation state of Repeat and RepeatUntil.
type RepeatOp[T, O any] struct {
	rounds
	child O
	s     kept[T, O]
	pred  func(T) bool
	r     Receiver[T]
	token stop.Token
}

// Connect implements Sender.
func (s RepeatSender[T, O, S]) Connect(op *RepeatOp[T, O], r Receiver[T]) Operation {
	op.s, op.pred, op.r = keep(op.s, s.s), s.pred, r
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *RepeatSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

// Start implements Operation.
func (op *RepeatOp[T, O]) Start() {
	op.token = op.r.Env().StopToken()
	op.start()
	op.run()
}

// run plays rounds until one does not complete at once, or is the last.
func (op *RepeatOp[T, O]) run() {
	t, child := op.turn, (*repeatReceiver[T, O])(op)
	// A function of the user's may end this frame by runtime.Goexit.
	returned := false
	defer aftergoexit.Run(&returned, func() {
		if t.again() {
			op.run()
		}
	})
	for {
		t.begin()
		var start Operation
		if op.token.StopRequested() {
			child.SetStopped()
		} else if protect(func() { start = op.s.connect(&op.child, child) }, child.SetError) {
			start.Start()
		}
		// op may have completed meanwhile, here or elsewhere. Only t is still ours to look at.
		if !t.again() {
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
			op.end()
			op.r.SetValue(v)
			return
		}
	}
	if !op.turn.hand() {
		op.run()
	}
}

func (r *repeatReceiver[T, O]) SetError(err error) {
	r.end()
	r.r.SetError(err)
}

func (r *repeatReceiver[T, O]) SetStopped() {
	r.end()
	r.r.SetStopped()
}

func (r *repeatReceiver[T, O]) Env() Env { return r.r.Env() }
