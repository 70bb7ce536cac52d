package sender

import (
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/sender/stop"
)

// Repeat connects and starts s again whenever it completes with a value, which is dropped, and ends
// when s completes with an error or stopped, or when stop was requested between two rounds. It never
// completes with a value.
//
// A round begins where the previous one completed, unless that happened before its Start returned:
// then where that Start was called. However many rounds complete at once, the stack does not grow.
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
	child O
	s     S
	pred  func(T) bool
	r     Receiver[T]
	token stop.Token
	turn  *turn // nil when idle
}

// Connect implements Sender.
func (s RepeatSender[T, O, P, S]) Connect(op *RepeatOp[T, O, P, S], r Receiver[T]) {
	op.s, op.pred, op.r = s.s, s.pred, r
}

// Start implements Operation.
func (op *RepeatOp[T, O, P, S]) Start() {
	if debug && op.turn != nil {
		panic("sender: Start of an operation that is in flight")
	}
	op.token = op.r.Env().StopToken()
	op.turn = turns.Get().(*turn)
	op.run()
}

// run plays rounds until one does not complete at once, or is the last.
func (op *RepeatOp[T, O, P, S]) run() {
	t := op.turn
	for {
		if op.token.StopRequested() {
			op.turn = nil
			turns.Put(t)
			op.r.SetStopped()
			return
		}
		t.state.Store(starting)
		op.s.Connect(&op.child, (*repeatReceiver[T, O, P, S])(op))
		P(&op.child).Start()
		// op may have completed meanwhile, here or elsewhere. Only t is still ours to look at.
		if !t.again() {
			return
		}
	}
}

// end makes op idle. The receiver is to be called after it.
func (op *RepeatOp[T, O, P, S]) end() {
	t := op.turn
	op.turn = nil
	t.end()
}

type repeatReceiver[T, O any, P Operation[O], S Sender[T, O]] RepeatOp[T, O, P, S]

func (r *repeatReceiver[T, O, P, S]) SetValue(v T) {
	op := (*RepeatOp[T, O, P, S])(r)
	if op.pred != nil {
		done, err := call(op.pred, v)
		if err != nil {
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
	(*RepeatOp[T, O, P, S])(r).end()
	r.r.SetError(err)
}

func (r *repeatReceiver[T, O, P, S]) SetStopped() {
	(*RepeatOp[T, O, P, S])(r).end()
	r.r.SetStopped()
}

func (r *repeatReceiver[T, O, P, S]) Env() Env { return r.r.Env() }

// turn is what the frame that starts a round and the round's completion agree by: who begins the
// next round, and whether there is one. It is not part of the operation state, because the frame has
// to look at it when the operation may long be over and its storage be somebody else's.
type turn struct{ state atomic.Uint32 }

const (
	starting = iota // the frame is inside the child's Start
	left            // it has left before the round was complete
	handed          // the round is complete, and the frame begins the next
	ended           // the round was the last
)

var turns = sync.Pool{New: func() any { return new(turn) }}

// again is asked by the frame when the child's Start has returned: is the next round to be begun by it?
func (t *turn) again() bool {
	if t.state.CompareAndSwap(starting, left) {
		return false
	}
	if t.state.Load() == handed {
		return true
	}
	turns.Put(t)
	return false
}

// hand is asked by a round's completion: will the frame that started it begin the next?
func (t *turn) hand() bool { return t.state.CompareAndSwap(starting, handed) }

// end says that the round was the last. Whoever of the two is later puts t back.
func (t *turn) end() {
	if !t.state.CompareAndSwap(starting, ended) {
		turns.Put(t)
	}
}
