package sender_test

import (
	"errors"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// firstSuccess returns what a FirstSuccess of these leaves may do.
func firstSuccess(ls ...*leaf) sendertest.Options[int] {
	hangs, value, failure := false, false, false
	for _, l := range ls {
		hangs = hangs || endless(l)
		value = value || !endless(l) && l.Result.Channel == sendertest.OnValue
		failure = failure || !endless(l) && l.Result.Channel == sendertest.OnError
	}
	return sendertest.Options[int]{
		Accept: func(p sendertest.Point, x result) bool {
			switch {
			case isStopped(p):
				return in(x, itStopped)
			case x.Channel == sendertest.OnValue:
				return value && in(x, theValue)
			case x.Channel == sendertest.OnError:
				return failure && in(x, theError) && (mayStop(p) || !value)
			}
			return mayStop(p) || !value && !failure
		},
		Endless:     hangs && !value,
		Restartable: true,
		Rounds:      1,
	}
}

func TestFirstSuccess(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		sendertest.Check(t, sender.FirstSuccess(a, b), firstSuccess(a, b))
	})
}

func TestFirstSuccessSlice(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		sendertest.Check(t, sender.FirstSuccessSlice([]*leaf{a, b}), firstSuccess(a, b))
	})
	sendertest.Check(t, sender.FirstSuccessSlice([]*leaf(nil)), accept(itStopped))
}

// An error does not end it: the first value does, and the rest is joined.
func TestFirstSuccessPassesOverErrors(t *testing.T) {
	a, b, c := &leaf{Result: theError}, &leaf{Result: theValue}, &leaf{OnStop: sendertest.Inline}
	rec := new(sendertest.Recorder[int])
	run(t, sender.FirstSuccessSlice([]*leaf{a, b, c}), rec)
	a.Finish()
	if rec.Completed() || c.InFlight() != 1 {
		t.Error("an error ended it")
	}
	b.Finish()
	if x := rec.Result(); !in(x, theValue) || c.InFlight() != 0 {
		t.Errorf("completed with %v, %d in flight", x, c.InFlight())
	}
}

// If no child succeeds, the error contains every error.
func TestFirstSuccessOfNoneJoinsTheErrors(t *testing.T) {
	other := errors.New("other")
	s := sender.FirstSuccess(sender.JustError[int](errLeaf), sender.JustError[int](other))
	_, err := sender.SyncWait(t.Context(), s)
	if !errors.Is(err, errLeaf) || !errors.Is(err, other) {
		t.Errorf("completed with %v", err)
	}
	_, err = sender.SyncWait(t.Context(), sender.FirstSuccess(sender.JustStopped[int](), sender.JustError[int](errLeaf)))
	if err != errLeaf {
		t.Errorf("completed with %v, want the one error as it is", err)
	}
}

func TestFirstSuccessStoppedBeforeStartsNothing(t *testing.T) {
	a, b := &leaf{OnStart: sendertest.Inline, Result: theValue}, &leaf{OnStart: sendertest.Inline, Result: theValue}
	var s stop.Source
	s.RequestStop()
	rec := &sendertest.Recorder[int]{Stop: &s}
	run(t, sender.FirstSuccess(a, b), rec)
	if x := rec.Result(); !in(x, itStopped) || a.Starts()+b.Starts() != 0 {
		t.Errorf("%v and %d starts, want stopped and none", x, a.Starts()+b.Starts())
	}
}
