package sender_test

import (
	"slices"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// whenAll says what an operation that needs all of ls may do; v is its value.
func whenAll[T comparable](v T, ls ...*leaf) sendertest.Options[T] {
	hangs, fails, stops := false, false, false
	for _, l := range ls {
		hangs = hangs || endless(l)
		fails = fails || !endless(l) && l.Result.Channel == sendertest.OnError
		stops = stops || !endless(l) && l.Result.Channel == sendertest.OnStopped
	}
	return sendertest.Options[T]{
		Accept: func(p sendertest.Point, x sendertest.Result[T]) bool {
			if isStopped(p) {
				return in(x, sendertest.Stopped[T]())
			}
			switch {
			case in(x, sendertest.Error[T](errLeaf)):
				return fails
			case in(x, sendertest.Stopped[T]()):
				return stops || mayStop(p)
			default:
				return in(x, sendertest.Value(v)) && !fails && !stops
			}
		},
		Endless:     hangs && !fails && !stops,
		Restartable: true,
		Rounds:      1,
	}
}

func TestWhenAll(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		sendertest.Check(t, sender.WhenAll(a, b), whenAll(sender.All2[int, int]{A: 7, B: 7}, a, b))
	})
}

func TestWhenAllN(t *testing.T) {
	th := sendertest.NewThread(t)
	eachPair(t, func(t *testing.T, a, b *leaf) {
		c := &leaf{OnStart: sendertest.Later, OnStop: sendertest.Inline, Thread: th, Result: sendertest.Value(9)}
		text := sender.Just("text")
		sendertest.Check(t, sender.WhenAll3(a, b, c), whenAll(sender.All3[int, int, int]{A: 7, B: 7, C: 9}, a, b, c))
		sendertest.Check(t, sender.WhenAll4(a, c, text, b),
			whenAll(sender.All4[int, int, string, int]{A: 7, B: 9, C: "text", D: 7}, a, b, c))
		sendertest.Check(t, sender.WhenAll5(text, a, c, text, b),
			whenAll(sender.All5[string, int, int, string, int]{A: "text", B: 7, C: 9, D: "text", E: 7}, a, b, c))
	})
}

func TestWhenAllSlice(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		s := sender.Then(sender.WhenAllSlice([]*leaf{a, b}), func(vs []int) sender.All2[int, int] {
			return sender.All2[int, int]{A: vs[0], B: vs[1]}
		})
		sendertest.Check(t, s, whenAll(sender.All2[int, int]{A: 7, B: 7}, a, b))
	})
	rec := new(sendertest.Recorder[[]int])
	run(t, sender.WhenAllSlice([]*leaf(nil)), rec)
	if x := rec.Result(); x.Channel != sendertest.OnValue || len(x.Value) != 0 {
		t.Errorf("none complete with %v", x)
	}
}

// The values are those of the positions, in whatever order they come.
func TestWhenAllPositions(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		ls := []*leaf{{Result: sendertest.Value(1)}, {Result: sendertest.Value(2)}, {Result: sendertest.Value(3)}}
		rec := new(sendertest.Recorder[sender.All3[int, int, int]])
		run(t, sender.WhenAll3(ls[0], ls[1], ls[2]), rec)
		slice := new(sendertest.Recorder[[]int])
		run(t, sender.WhenAllSlice(ls), slice)
		for _, i := range order {
			if rec.Completed() || slice.Completed() {
				t.Error("completed with a child in flight")
			}
			ls[i].Finish()
		}
		if x := rec.Result().Value; x.A != 1 || x.B != 2 || x.C != 3 {
			t.Errorf("order %v: %v", order, x)
		}
		if x := slice.Result().Value; !slices.Equal(x, []int{1, 2, 3}) {
			t.Errorf("order %v: %v", order, x)
		}
	}
}

// Who decides, and who is joined: x completes the first child, which decides, y then the second one.
func TestWhenAllDecides(t *testing.T) {
	for _, test := range []struct{ x, y, want result }{
		{theError, theValue, theError},
		{theError, sendertest.Error[int](errCleanup), theError},
		{theError, itStopped, theError},
		{itStopped, theValue, itStopped},
		{itStopped, theError, theError}, // an error goes before being stopped
	} {
		a, b, c := &leaf{Result: test.x}, &leaf{Result: test.y}, &leaf{OnStop: sendertest.Inline}
		rec := new(sendertest.Recorder[sender.All3[int, int, int]])
		run(t, sender.WhenAll3(a, b, c), rec)
		a.Finish()
		if c.InFlight() != 0 || rec.Completed() {
			t.Errorf("%v: the third child was not asked to stop, or the second not waited for", test.x)
		}
		b.Finish()
		if x := rec.Result(); x.Channel != test.want.Channel || x.Err != test.want.Err {
			t.Errorf("%v, then %v: completed with %v", test.x, test.y, x)
		}
	}
}

// A stop request does not throw away what the children have all the same.
func TestWhenAllResultWins(t *testing.T) {
	var source stop.Source
	a, b := &leaf{Result: theValue}, &leaf{Result: theValue}
	rec := &sendertest.Recorder[sender.All2[int, int]]{Stop: &source}
	run(t, sender.WhenAll(a, b), rec)
	source.RequestStop()
	a.Finish()
	b.Finish()
	if x := rec.Result(); x.Channel != sendertest.OnValue {
		t.Errorf("completed with %v", x)
	}
}
