package sender_test

import (
	"errors"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

func TestLet(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		s := sender.Let(a, func(n int) *leaf {
			if n != theValue.Value {
				t.Errorf("f was given %d", n)
			}
			return b
		})
		goesOn := a.Result.Channel == sendertest.OnValue
		sendertest.Check(t, s, sendertest.Options[int]{
			Accept: func(p sendertest.Point, x result) bool {
				if allowed(a, p, x, func(int) result { return b.Result }) {
					return true
				}
				return goesOn && mayStop(p) && b.OnStop != sendertest.Nothing && in(x, itStopped)
			},
			Endless:     endless(a) || goesOn && endless(b),
			Restartable: true,
			Rounds:      1,
		})
	})
}

func TestLetPanics(t *testing.T) {
	s := sender.Let(sender.Just(1), func(int) sender.JustSender[int] { panic(errLeaf) })
	_, err := sender.SyncWait(t.Context(), s)
	var pe *sender.PanicError
	if !errors.As(err, &pe) || !errors.Is(err, errLeaf) {
		t.Errorf("error %v, want a PanicError", err)
	}
}
