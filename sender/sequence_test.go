package sender_test

import (
	"runtime"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// counted returns n leaves with the values 1 to n, of which the one with number bad, if any, does not have a value.
// They complete inside Start and on a thread in turn.
func counted(th *sendertest.Thread, n, bad int, x result) []*leaf {
	ls := make([]*leaf, n)
	for i := range ls {
		ls[i] = &leaf{OnStart: sendertest.Inline, OnStop: sendertest.Later, Thread: th, Result: sendertest.Value(i + 1)}
		if i%2 == 1 {
			ls[i].OnStart = sendertest.Later
		}
		if i+1 == bad {
			ls[i].Result = x
		}
	}
	return ls
}

// checkSequence checks s, which is to run ls one after another. Those after bad must not be started.
func checkSequence[O any, S sender.Sender[int, O]](t *testing.T, s S, ls []*leaf, bad int) {
	t.Helper()
	want := ls[len(ls)-1].Result
	if bad > 0 {
		want = ls[bad-1].Result
	}
	o := accept(want)
	o.Accept = func(p sendertest.Point, x result) bool { return in(x, want) || mayStop(p) && in(x, itStopped) }
	sendertest.Check[int, O](t, s, o)
	for i, l := range ls {
		if ran := l.Starts() > 0; ran != (bad == 0 || i < bad) || l.InFlight() != 0 {
			t.Errorf("child %d of %d: %d starts, %d in flight; number %d has no value",
				i+1, len(ls), l.Starts(), l.InFlight(), bad)
		}
	}
}

func TestSequenceOfMany(t *testing.T) {
	th := sendertest.NewThread(t)
	for bad := range 6 {
		for _, x := range []result{theError, itStopped} {
			if bad <= 3 {
				ls := counted(th, 3, bad, x)
				checkSequence(t, sender.Sequence(sender.Sequence(ls[0], ls[1]), ls[2]), ls, bad)
			}
			if bad <= 4 {
				ls := counted(th, 4, bad, x)
				checkSequence(t, sender.Sequence(ls[0], sender.Sequence(sender.Sequence(ls[1], ls[2]), ls[3])), ls, bad)
			}
			ls := counted(th, 5, bad, x)
			checkSequence(t, sender.SequenceSlice(ls), ls, bad)
		}
	}
}

func TestSequenceSlice(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		o := following(a, b, sendertest.OnValue)
		follow := o.Accept
		o.Accept = func(p sendertest.Point, x result) bool { return follow(p, x) || mayStop(p) && in(x, itStopped) }
		sendertest.Check(t, sender.SequenceSlice([]*leaf{a, b}), o)
	})
	sendertest.Check(t, sender.SequenceSlice([]*leaf(nil)), accept(sendertest.Value(0)))
}

// A second sender is connected when the first has completed, not before.
func TestSequenceConnectsLate(t *testing.T) {
	connected := false
	second := sender.Let(sender.Just(1), sender.Just[int])
	s := sender.Sequence(sender.Then(sender.Just(1), func(int) int {
		if connected {
			t.Error("connected early")
		}
		return 1
	}), onConnect[sender.LetOp[int, int, sender.JustOp[int], sender.JustOp[int]]]{
		second, func() { connected = true },
	})
	rec := new(sendertest.Recorder[int])
	run(t, s, rec)
	if !connected || !in(rec.Result(), sendertest.Value(1)) {
		t.Errorf("connected: %v, completed with %v", connected, rec.Result())
	}
}

// onConnect calls f when it is connected.
type onConnect[O any] struct {
	sender.Sender[int, O]
	f func()
}

func (s onConnect[O]) Connect(op *O, r sender.Receiver[int]) sender.Operation {
	s.f()
	return s.Sender.Connect(op, r)
}

func TestSequenceSliceDoesNotRecurse(t *testing.T) {
	const n = 100_000
	deepest := 0
	var pcs [200]uintptr
	each := sender.Then(sender.Just(1), func(v int) int {
		deepest = max(deepest, runtime.Callers(0, pcs[:]))
		return v
	})
	all := make([]sender.ThenSender[int, int, sender.JustOp[int], sender.JustSender[int]], n)
	for i := range all {
		all[i] = each
	}
	rec := new(sendertest.Recorder[int])
	run(t, sender.SequenceSlice(all), rec)
	if !in(rec.Result(), sendertest.Value(1)) || deepest > 50 {
		t.Errorf("completed with %v, %d frames deep", rec.Result(), deepest)
	}
}

func TestSequenceSliceStopsBetween(t *testing.T) {
	var source stop.Source
	n := 0
	s := sender.Then(sender.Just(1), func(int) int {
		if n++; n == 2 {
			source.RequestStop()
		}
		return n
	})
	rec := &sendertest.Recorder[int]{Stop: &source}
	run(t, sender.SequenceSlice([]sender.ThenSender[int, int, sender.JustOp[int], sender.JustSender[int]]{s, s, s}), rec)
	if !in(rec.Result(), itStopped) || n != 2 {
		t.Errorf("%v after %d, want stopped after 2", rec.Result(), n)
	}
}
