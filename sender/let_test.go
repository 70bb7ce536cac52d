package sender_test

import (
	"errors"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

// outcomes returns what l may complete with when stop is requested at p.
func outcomes(l *leaf, p sendertest.Point) (xs []result) {
	if !endless(l) {
		xs = append(xs, l.Result)
	}
	if mayStop(p) && l.OnStop != sendertest.Nothing {
		xs = append(xs, itStopped)
	}
	return xs
}

// following returns how an operation may complete that starts b when a completes on that channel.
func following(a, b *leaf, on sendertest.Channel) sendertest.Options[int] {
	return sendertest.Options[int]{
		Accept: func(p sendertest.Point, x result) bool {
			for _, y := range outcomes(a, p) {
				if y.Channel == on && in(x, outcomes(b, p)...) || y.Channel != on && in(x, y) {
					return true
				}
			}
			return false
		},
		Endless:     endless(a) || a.Result.Channel == on && endless(b),
		Restartable: true,
		Rounds:      1,
	}
}

func TestLet(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		s := sender.Let(a, func(n int) *leaf {
			if n != theValue.Value {
				t.Errorf("f was given %d", n)
			}
			return b
		})
		sendertest.Check(t, s, following(a, b, sendertest.OnValue))
	})
}

func TestLetError(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		s := sender.LetError(a, func(err error) *leaf {
			if !errors.Is(err, errLeaf) {
				t.Errorf("f was given %v", err)
			}
			return b
		})
		sendertest.Check(t, s, following(a, b, sendertest.OnError))
	})
}

func TestLetStopped(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		s := sender.LetStopped(a, func() *leaf { return b })
		sendertest.Check(t, s, following(a, b, sendertest.OnStopped))
	})
}

func TestFallback(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		sendertest.Check(t, sender.Fallback(a, b), following(a, b, sendertest.OnError))
	})
}

func TestSequence(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		sendertest.Check(t, sender.Sequence(a, b), following(a, b, sendertest.OnValue))
	})
}

// expectPanic runs s, which is to complete with a PanicError of errLeaf.
func expectPanic[T, O any, S sender.Sender[T, O]](t *testing.T, name string, s S) {
	t.Helper()
	rec := new(sendertest.Recorder[T])
	run[T, O](t, s, rec)
	var pe *sender.PanicError
	if err := rec.Result().Err; !errors.As(err, &pe) || !errors.Is(err, errLeaf) {
		t.Errorf("%s: completed with %v, want a PanicError", name, rec.Result())
	}
}

// bad is a sender that cannot be connected.
type bad struct{}

func (bad) Connect(*sender.JustOp[int], sender.Receiver[int]) sender.Operation { panic(errLeaf) }

func TestPanicsAreErrors(t *testing.T) {
	just, fails, stops := sender.Just(1), sender.JustError[int](errors.New("first")), sender.JustStopped[int]()
	good := func(int) sender.JustSender[int] { panic(errLeaf) }
	expectPanic(t, "Then", sender.Then(just, func(int) int { panic(errLeaf) }))
	expectPanic(t, "UponError", sender.UponError(fails, func(error) int { panic(errLeaf) }))
	expectPanic(t, "UponStopped", sender.UponStopped(stops, func() int { panic(errLeaf) }))
	expectPanic(t, "Let", sender.Let(just, good))
	expectPanic(t, "Let, connect", sender.Let(just, func(int) bad { return bad{} }))
	expectPanic(t, "LetError", sender.LetError(fails, func(error) bad { panic(errLeaf) }))
	expectPanic(t, "LetError, connect", sender.LetError(fails, func(error) bad { return bad{} }))
	expectPanic(t, "LetStopped", sender.LetStopped(stops, func() bad { panic(errLeaf) }))
	expectPanic(t, "LetStopped, connect", sender.LetStopped(stops, func() bad { return bad{} }))
	expectPanic(t, "Fallback, connect", sender.Fallback(fails, bad{}))
	expectPanic(t, "Sequence, connect", sender.Sequence(just, bad{}))
	expectPanic(t, "Sequence of three, connect", sender.Sequence(sender.Sequence(just, bad{}), just))
	expectPanic(t, "SequenceSlice, connect", sender.SequenceSlice([]bad{{}}))
	expectPanic(t, "Repeat, connect", sender.Repeat(bad{}))
	expectPanic(t, "RepeatUntil", sender.RepeatUntil(just, func(int) bool { panic(errLeaf) }))
	expectPanic(t, "Retry, connect", sender.Retry(bad{}, func(int, error) bool { return false }))
	expectPanic(t, "Retry", sender.Retry(fails, func(int, error) bool { panic(errLeaf) }))
	expectPanic(t, "RetryAfter, connect", sender.RetryAfter(fails, func(int, error) (bad, bool) { return bad{}, true }))
	expectPanic(t, "Bulk", sender.Bulk(just, 2, func(int, int) { panic(errLeaf) }))
	expectPanic(t, "ReadEnv", sender.ReadEnv(func(sender.Env) int { panic(errLeaf) }))
	expectPanic(t, "FromFunc", sender.FromFunc(func() (int, error) { panic(errLeaf) }))
}
