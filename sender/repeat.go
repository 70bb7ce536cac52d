package sender

import "github.com/reactord/reactord/sender/stop"

// Repeat connects and starts s again whenever it completes with a value, which is dropped, and ends
// when s completes with an error or stopped, or when stop was requested between two rounds. It never
// completes with a value.
//
// A round begins where the previous one completed, unless that happened before its Start returned:
// then where that Start was called. However many rounds complete at once, the stack does not grow. It
// completes where the last round does. Nothing is allocated.
//
// Source: stdexec's exec::repeat_until, libunifex's repeat_effect.
func Repeat[T, O any, P Operation[O], S Sender[T, O]](s S) RepeatSender[T, O, P, S] {
	return RepeatSender[T, O, P, S]{s: s}
}

// RepeatUntil is Repeat that ends, with the value, when pred of it is true.
func RepeatUntil[T, O any, P Operation[O], S Sender[T, O]](s S, pred func(T) bool) RepeatSender[T, O, P, S] {
	return RepeatSender[T, O, P, S]{s, pred}
}

// RepeatSender is what Repeat and RepeatUntil return.
type RepeatSender[T, O any, P Operation[O], S Sender[T, O]] struct {
	s    S
	pred func(T) bool // nil: never
}

// RepeatOp is the operation state of Repeat and RepeatUntil.
type RepeatOp[T, O any, P Operation[O], S Sender[T, O]] struct {
	rounds
	child O
	s     S
	pred  func(T) bool
	r     Receiver[T]
	token stop.Token
}

// Connect implements Sender.
func (s RepeatSender[T, O, P, S]) Connect(op *RepeatOp[T, O, P, S], r Receiver[T]) {
	op.s, op.pred, op.r = s.s, s.pred, r
}

// Completion implements Completer.
func (s *RepeatSender[T, O, P, S]) Completion() Completion { return CompletionOf(&s.s) }

// Start implements Operation.
func (op *RepeatOp[T, O, P, S]) Start() {
	op.token = op.r.Env().StopToken()
	op.start()
	op.run()
}

// run plays rounds until one does not complete at once, or is the last.
func (op *RepeatOp[T, O, P, S]) run() {
	t := op.turn
	for {
		t.begin()
		if op.token.StopRequested() {
			(*repeatReceiver[T, O, P, S])(op).SetStopped()
		} else if err := protect(func() { op.s.Connect(&op.child, (*repeatReceiver[T, O, P, S])(op)) }); err != nil {
			(*repeatReceiver[T, O, P, S])(op).SetError(err)
		} else {
			P(&op.child).Start()
		}
		// op may have completed meanwhile, here or elsewhere. Only t is still ours to look at.
		if !t.again() {
			return
		}
	}
}

type repeatReceiver[T, O any, P Operation[O], S Sender[T, O]] RepeatOp[T, O, P, S]

func (r *repeatReceiver[T, O, P, S]) SetValue(v T) {
	op := (*RepeatOp[T, O, P, S])(r)
	if op.pred != nil {
		done := false
		if err := protect(func() { done = op.pred(v) }); err != nil {
			op.end()
			op.r.SetError(err)
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

func (r *repeatReceiver[T, O, P, S]) SetError(err error) {
	r.end()
	r.r.SetError(err)
}

func (r *repeatReceiver[T, O, P, S]) SetStopped() {
	r.end()
	r.r.SetStopped()
}

func (r *repeatReceiver[T, O, P, S]) Env() Env { return r.r.Env() }
