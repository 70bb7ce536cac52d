package sender_test

import (
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

func accept(want result) sendertest.Options[int] {
	return sendertest.Options[int]{
		Accept:      func(_ sendertest.Point, x result) bool { return in(x, want) },
		Restartable: true,
	}
}

func TestJust(t *testing.T) { sendertest.Check(t, sender.Just(7), accept(theValue)) }
func TestJustError(t *testing.T) {
	sendertest.Check(t, sender.JustError[int](errLeaf), accept(theError))
}
func TestJustStopped(t *testing.T) { sendertest.Check(t, sender.JustStopped[int](), accept(itStopped)) }
