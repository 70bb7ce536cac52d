package sender_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

// allowed reports whether an operation over l may complete so: with what becomes of l's result, or stopped.
func allowed(l *leaf, p sendertest.Point, x result, f func(int) result) bool {
	want := l.Result
	if want.Channel == sendertest.OnValue {
		want = f(want.Value)
	}
	if mayStop(p) && l.OnStop != sendertest.Nothing {
		return in(x, want, itStopped)
	}
	return in(x, want)
}

func TestThen(t *testing.T) {
	eachLeaf(t, func(t *testing.T, l *leaf) {
		sendertest.Check(t, sender.Then(l, inc), sendertest.Options[int]{
			Accept: func(p sendertest.Point, x result) bool {
				return allowed(l, p, x, func(n int) result { return sendertest.Value(n + 1) })
			},
			Endless:     endless(l),
			Restartable: true,
		})
	})
}

func TestThenPanics(t *testing.T) {
	s := sender.Then(sender.Just(1), func(int) string { panic(io.EOF) })
	rec := new(sendertest.Recorder[string])
	run(t, s, rec)
	var pe *sender.PanicError
	if err := rec.Result().Err; !errors.As(err, &pe) || !errors.Is(err, io.EOF) {
		t.Fatalf("completed with %v, want a PanicError that is io.EOF", rec.Result())
	}
	if pe.Value != io.EOF || !strings.Contains(string(pe.Stack), "TestThenPanics") || !strings.Contains(pe.Error(),
		"EOF") {
		t.Errorf("value %v, text %q, stack:\n%s", pe.Value, pe, pe.Stack)
	}
}

func TestThenPanicsWithoutError(t *testing.T) {
	_, err := sender.SyncWait(t.Context(), sender.Then(sender.Just(1), func(int) int { panic("so") }))
	if err == nil || errors.Unwrap(err) != nil || err.Error() != "sender: panic: so" {
		t.Errorf("error %v, unwrapped %v", err, errors.Unwrap(err))
	}
}

// A panic of the receiver is not taken for one of the function.
func TestThenLeavesReceiverAlone(t *testing.T) {
	rec := &sendertest.Recorder[int]{Then: func(result) { panic("receiver") }}
	defer func() {
		if v := recover(); v != "receiver" {
			t.Errorf("recovered %v", v)
		}
		if x := rec.Result(); !in(x, sendertest.Value(2)) {
			t.Errorf("completed with %v", x)
		}
	}()
	run(t, sender.Then(sender.Just(1), inc), rec)
}
