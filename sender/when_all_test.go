package sender_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// whenAll returns what an operation that needs all of ls may do; v is its value.
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

func TestWhenAllNested(t *testing.T) {
	th := sendertest.NewThread(t)
	eachPair(t, func(t *testing.T, a, b *leaf) {
		c := &leaf{OnStart: sendertest.Later, OnStop: sendertest.Inline, Thread: th, Result: sendertest.Value(9)}
		text := sender.Just("text")
		ints := sender.All2[int, int]{A: 7, B: 7}
		sendertest.Check(t, sender.WhenAll(sender.WhenAll(a, b), c),
			whenAll(sender.All2[sender.All2[int, int], int]{A: ints, B: 9}, a, b, c))
		sendertest.Check(t, sender.WhenAll(sender.WhenAll(a, c), sender.WhenAll(text, b)),
			whenAll(sender.All2[sender.All2[int, int], sender.All2[string, int]]{
				A: sender.All2[int, int]{A: 7, B: 9}, B: sender.All2[string, int]{A: "text", B: 7},
			}, a, b, c))
	})
}

func TestWhenAllSlice(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		s := sender.Then(sender.WhenAllSlice([]*leaf{a, b}, 0), func(vs []int) sender.All2[int, int] {
			return sender.All2[int, int]{A: vs[0], B: vs[1]}
		})
		sendertest.Check(t, s, whenAll(sender.All2[int, int]{A: 7, B: 7}, a, b))
	})
	rec := new(sendertest.Recorder[[]int])
	run(t, sender.WhenAllSlice([]*leaf(nil), 0), rec)
	if x := rec.Result(); x.Channel != sendertest.OnValue || len(x.Value) != 0 {
		t.Errorf("none complete with %v", x)
	}
}

// A bound changes nothing but how many are in progress.
func TestWhenAllSliceBound(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		s := sender.Then(sender.WhenAllSlice([]*leaf{a, b}, 1), func(vs []int) sender.All2[int, int] {
			return sender.All2[int, int]{A: vs[0], B: vs[1]}
		})
		o := whenAll(sender.All2[int, int]{A: 7, B: 7}, a, b)
		o.Endless = endless(a) || a.Result.Channel == sendertest.OnValue && endless(b)
		sendertest.Check(t, s, o)
	})
}

func TestWhenAllSliceBoundHolds(t *testing.T) {
	const n, bound = 100, 7
	th := sendertest.NewThread(t)
	inProgress, most, next := 0, 0, 0
	work := make([]sender.Any[int], n)
	for i := range work {
		begin := sender.FromFunc(func() (int, error) {
			if i != next {
				t.Errorf("%d was started when %d was next", i, next)
			}
			next++
			inProgress++
			most = max(most, inProgress)
			return i, nil
		})
		later := &leaf{OnStart: sendertest.Later, Thread: th, Result: theValue}
		work[i] = sender.Erase(sender.Let(begin, func(i int) sender.ThenSender[int, int, sendertest.LeafOp[int], *leaf] {
			return sender.Then(later, func(int) int { inProgress--; return i })
		}))
	}
	done := make(chan []int)
	th.Do(func() {
		sender.Submit(sender.WhenAllSlice(work, bound), &collected{done: done})
	})
	values := <-done
	if most != bound || next != n {
		t.Errorf("%d of %d were started, at most %d in flight", next, n, most)
	}
	for i, v := range values {
		if v != i {
			t.Fatalf("value %d is %d", i, v)
		}
	}
}

// collected is the receiver of all values.
type collected struct {
	sender.Discard[[]int]
	done chan []int
}

func (c *collected) SetValue(v []int) { go func() { c.done <- v }() }

// What fails keeps the rest from being started.
func TestWhenAllSliceBoundSkips(t *testing.T) {
	first, never := &leaf{Result: theError}, &leaf{OnStart: sendertest.Inline, Result: theValue}
	rec := new(sendertest.Recorder[[]int])
	run(t, sender.WhenAllSlice([]*leaf{first, never, never}, 1), rec)
	first.Finish()
	if x := rec.Result(); x.Err != errLeaf || never.Starts() != 0 {
		t.Errorf("completed with %v after %d starts", x, never.Starts())
	}
}

// A million that complete inside Start do not grow the stack.
func TestWhenAllSliceBoundDoesNotRecurse(t *testing.T) {
	const n = 100_000
	deepest := 0
	var pcs [200]uintptr
	step := sender.FromFunc(func() (int, error) {
		deepest = max(deepest, runtime.Callers(0, pcs[:]))
		return 1, nil
	})
	s := make([]sender.FromFuncSender[int], n)
	for i := range s {
		s[i] = step
	}
	values, err := sender.SyncWait(t.Context(), sender.WhenAllSlice(s, 1))
	if len(values) != n || err != nil || deepest == len(pcs) {
		t.Errorf("%d values, %v, %d frames deep", len(values), err, deepest)
	}
}

// The values are those of the positions, in whatever order they come.
func TestWhenAllPositions(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		ls := []*leaf{{Result: sendertest.Value(1)}, {Result: sendertest.Value(2)}, {Result: sendertest.Value(3)}}
		rec := new(sendertest.Recorder[sender.All2[int, sender.All2[int, int]]])
		run(t, sender.WhenAll(ls[0], sender.WhenAll(ls[1], ls[2])), rec)
		slice := new(sendertest.Recorder[[]int])
		run(t, sender.WhenAllSlice(ls, 0), slice)
		for _, i := range order {
			if rec.Completed() || slice.Completed() {
				t.Error("completed with a child in flight")
			}
			ls[i].Finish()
		}
		if x := rec.Result().Value; x.A != 1 || x.B.A != 2 || x.B.B != 3 {
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
		rec := new(sendertest.Recorder[[]int])
		run(t, sender.WhenAllSlice([]*leaf{a, b, c}, 0), rec)
		a.Finish()
		if c.InFlight() != 0 || rec.Completed() {
			t.Errorf("%v: the third child was not requested to stop, or the second not waited for", test.x)
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
