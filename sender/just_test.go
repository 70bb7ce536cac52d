package sender_test

import (
	"fmt"
	"strings"
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

// A nil error looks like success to the code that receives it.
func TestNilErrorIsLoud(t *testing.T) {
	nothing := &leaf{OnStart: sendertest.Inline, Result: sendertest.Error[int](nil)}
	for name, f := range map[string]func(){
		"JustError":     func() { sender.JustError[int](nil) },
		"SyncWait":      func() { _, _ = sender.SyncWait(t.Context(), nothing) },
		"AsFuture":      func() { sender.AsFuture(nothing) },
		"Spawn":         func() { sender.Spawn(new(sender.CountingScope), nothing) },
		"SpawnFuture":   func() { sender.SpawnFuture(new(sender.CountingScope), nothing) },
		"StartDetached": func() { sender.StartDetached(nothing) },
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, "Error(nil)") {
					t.Errorf("%s: panicked with %q", name, text)
				}
			}()
			f()
		}()
	}
}

func TestJustError(t *testing.T) {
	sendertest.Check(t, sender.JustError[int](errLeaf), accept(theError))
}
func TestJustStopped(t *testing.T) { sendertest.Check(t, sender.JustStopped[int](), accept(itStopped)) }
