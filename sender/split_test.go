package sender_test

import (
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// One consumer of Split is as good as none.
func TestSplitOne(t *testing.T) {
	eachLeaf(t, func(t *testing.T, l *leaf) {
		s := sender.Let(sender.Just(1), func(int) sender.SplitSender[int] { return sender.Split(l) })
		o := mapped(l, func(x result) result { return x })
		follow := o.Accept
		o.Accept = func(p sendertest.Point, x result) bool { return follow(p, x) || mayStop(p) && in(x, itStopped) }
		sendertest.Check(t, s, o)
	})
}

func TestSplitTwo(t *testing.T) {
	eachLeaf(t, func(t *testing.T, l *leaf) {
		type pair = sender.WhenAllSender[int, int, sender.SplitOp[int], sender.SplitOp[int],
			sender.SplitSender[int], sender.SplitSender[int]]
		s := sender.Let(sender.Just(1), func(int) pair {
			s := sender.Split(l)
			return sender.WhenAll(s, s)
		})
		o := whenAll(sender.All2[int, int]{A: 7, B: 7}, l)
		o.Restartable = true
		sendertest.Check(t, s, o)
	})
}

// consumer returns one of several consumers of a Split.
func consumer(t *testing.T, s sender.SplitSender[int]) *sendertest.Recorder[int] {
	rec := &sendertest.Recorder[int]{Stop: new(stop.Source)}
	run(t, s, rec)
	return rec
}

func TestSplitShares(t *testing.T) {
	l := &leaf{Result: theValue}
	s := sender.Split(l)
	if l.Starts() != 0 {
		t.Error("started without a consumer")
	}
	a, b := consumer(t, s), consumer(t, s)
	if a.Completed() || b.Completed() || l.Starts() != 1 {
		t.Fatalf("%v, %v, %d starts", a.Result(), b.Result(), l.Starts())
	}
	l.Finish()
	c := consumer(t, s)
	for _, rec := range []*sendertest.Recorder[int]{a, b, c} {
		if !in(rec.Result(), theValue) {
			t.Errorf("completed with %v", rec.Result())
		}
	}
	if l.Starts() != 1 {
		t.Errorf("%d starts", l.Starts())
	}
}

// Who x the last one stops the work and waits for it.
func TestSplitLeave(t *testing.T) {
	l := &leaf{OnStop: sendertest.Nothing, Result: theValue}
	s := sender.Split(sender.Then(sender.WhenAny(l, &leaf{OnStop: sendertest.Inline}), inc))
	a, b, c := consumer(t, s), consumer(t, s), consumer(t, s)
	b.Stop.RequestStop()
	if !in(b.Result(), itStopped) || a.Completed() || c.Completed() {
		t.Fatalf("%v, %v, %v", a.Result(), b.Result(), c.Result())
	}
	a.Stop.RequestStop()
	c.Stop.RequestStop()
	if !in(a.Result(), itStopped) || c.Completed() {
		t.Fatalf("the last did not wait: %v, %v", a.Result(), c.Result())
	}
	d := consumer(t, s) // gets what there will be
	l.Finish()
	if want := sendertest.Value(8); !in(c.Result(), want) || !in(d.Result(), want) {
		t.Errorf("completed with %v, %v, want %v", c.Result(), d.Result(), want)
	}
}

func TestSplitLastStopsTheWork(t *testing.T) {
	l := &leaf{OnStop: sendertest.Inline}
	s := sender.Split(l)
	a := consumer(t, s)
	a.Stop.RequestStop()
	if !in(a.Result(), itStopped) || l.InFlight() != 0 {
		t.Errorf("completed with %v, %d in flight", a.Result(), l.InFlight())
	}
}

func TestSplitStoppedBefore(t *testing.T) {
	l := &leaf{Result: theValue}
	s := sender.Split(l)
	rec := &sendertest.Recorder[int]{Stop: new(stop.Source)}
	rec.Stop.RequestStop()
	run(t, s, rec)
	if !in(rec.Result(), itStopped) || l.Starts() != 0 {
		t.Errorf("completed with %v, %d starts", rec.Result(), l.Starts())
	}
}
