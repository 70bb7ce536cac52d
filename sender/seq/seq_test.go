package seq_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/sender/stop"
)

func TestForEach(t *testing.T) {
	eachLeaf(t, func(t *testing.T, s *leaf, l *ledger) {
		sendertest.Check(t, seq.ForEach(s, func(i *item) error { take(i); return nil }, l.drop), sendertest.Options[unit]{
			Accept: func(p sendertest.Point, x sendertest.Result[unit]) bool {
				return passedOn(s, p, x) && (!isStopped(p) || x.Channel == sendertest.OnStopped)
			},
			Endless: s.Endless, Restartable: true, Rounds: 5,
		})
		if l.dropped != 0 {
			t.Errorf("%d items were dropped", l.dropped)
		}
	})
}

// A function that fails ends the sequence, whose further items are dropped.
func TestForEachFails(t *testing.T) {
	for name, c := range map[string]struct {
		fail func() error
		want string
	}{
		"error":   {func() error { return errLeaf }, "error leaf"},
		"stopped": {func() error { return fmt.Errorf("enough: %w", sender.ErrStopped) }, "stopped"},
		"panic":   {func() error { panic("ouch") }, "error sender: panic: ouch"},
	} {
		t.Run(name, func(t *testing.T) {
			eachLeaf(t, func(t *testing.T, s *leaf, l *ledger) {
				var n atomic.Int32
				fail := func(i *item) error {
					take(i)
					if i.n == 2 {
						n.Add(1)
						return c.fail()
					}
					return nil
				}
				sendertest.Check(t, seq.ForEach(s, fail, l.drop), sendertest.Options[unit]{
					Accept: func(p sendertest.Point, x sendertest.Result[unit]) bool {
						return x.String() == c.want || mayStop(p) && x.Channel == sendertest.OnStopped
					},
					Restartable: true, Rounds: 3,
				})
				if n.Load() == 0 {
					t.Errorf("the function never failed")
				}
			})
		})
	}
}

func TestTransform(t *testing.T) {
	eachLeaf(t, func(t *testing.T, s *leaf, l *ledger) {
		same := func(i *item) *item { return i }
		sendertest.CheckSequence(t, seq.Transform(s, same, l.drop), options(s,
			func(p sendertest.Point, items []*item, x sendertest.Result[unit]) bool {
				return passedOn(s, p, x) && inOrder(items, mayStop(p)) && (x.Channel == sendertest.OnStopped || len(items) == 5)
			}))
		if l.dropped != 0 {
			t.Errorf("%d items were dropped", l.dropped)
		}
	})
}

func TestTransformPanics(t *testing.T) {
	eachLeaf(t, func(t *testing.T, s *leaf, l *ledger) {
		fail := func(i *item) *item {
			if i.n == 3 {
				take(i)
				panic("three")
			}
			return i
		}
		sendertest.CheckSequence(t, seq.Transform(s, fail, l.drop), options(s,
			func(p sendertest.Point, items []*item, x sendertest.Result[unit]) bool {
				var pe *sender.PanicError
				return errors.As(x.Err, &pe) && len(items) == 2 || mayStop(p) && x.Channel == sendertest.OnStopped
			}))
	})
}

func TestFilter(t *testing.T) {
	eachLeaf(t, func(t *testing.T, s *leaf, l *ledger) {
		odd := func(i *item) bool { return i.n%2 == 1 }
		sendertest.CheckSequence(t, seq.Filter(s, odd, l.drop), options(s,
			func(p sendertest.Point, items []*item, x sendertest.Result[unit]) bool {
				return passedOn(s, p, x) && !slices.ContainsFunc(items, func(i *item) bool { return i.n%2 == 0 })
			}))
	})
}

func TestFilterPanics(t *testing.T) {
	eachLeaf(t, func(t *testing.T, s *leaf, l *ledger) {
		fail := func(i *item) bool {
			if i.n == 3 {
				panic("three")
			}
			return true
		}
		sendertest.CheckSequence(t, seq.Filter(s, fail, l.drop), options(s,
			func(p sendertest.Point, items []*item, x sendertest.Result[unit]) bool {
				var pe *sender.PanicError
				return errors.As(x.Err, &pe) && len(items) == 2 || mayStop(p) && x.Channel == sendertest.OnStopped
			}))
	})
}

// The source is stopped and joined after the last item, and what it still delivers is dropped.
func TestTake(t *testing.T) {
	for _, n := range []int{1, 3, 5, 6} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			eachLeaf(t, func(t *testing.T, s *leaf, l *ledger) {
				o := options(s, func(p sendertest.Point, items []*item, x sendertest.Result[unit]) bool {
					if len(items) > n || !inOrder(items, mayStop(p)) {
						return false
					}
					if len(items) == n {
						return x.Channel == sendertest.OnValue
					}
					return passedOn(s, p, x)
				})
				o.Endless = o.Endless && n > 5
				sendertest.CheckSequence(t, seq.Take(s, n, l.drop), o)
				if n == 3 && s.OnStop == sendertest.Nothing && l.dropped == 0 {
					t.Errorf("a source that does not stop had nothing dropped")
				}
			})
		})
	}
}

func TestTakeNone(t *testing.T) {
	s := new(ledger).newLeaf(nil)
	sendertest.CheckSequence(t, seq.Take(s, 0, nil), sendertest.SequenceOptions[*item]{
		Accept: func(p sendertest.Point, items []*item, x sendertest.Result[unit]) bool {
			return x.Channel == sendertest.OnValue && len(items) == 0
		},
		Restartable: true,
	})
	if s.Starts() != 0 {
		t.Errorf("the source was started")
	}
}

func TestReduce(t *testing.T) {
	eachLeaf(t, func(t *testing.T, s *leaf, l *ledger) {
		add := func(n int, i *item) int { take(i); return n + i.n }
		sendertest.Check(t, seq.Reduce(s, 100, add, l.drop), sendertest.Options[int]{
			Accept: func(p sendertest.Point, x sendertest.Result[int]) bool {
				if x.Channel == sendertest.OnValue {
					return s.Result.Channel == sendertest.OnValue && x.Value == 115
				}
				return passedOn(s, p, sendertest.Result[unit]{Channel: x.Channel, Err: x.Err})
			},
			Endless: s.Endless, Restartable: true, Rounds: 5,
		})
	})
}

func TestCollect(t *testing.T) {
	eachLeaf(t, func(t *testing.T, s *leaf, l *ledger) {
		sendertest.Check(t, seq.Collect(s, l.drop), sendertest.Options[[]*item]{
			Accept: func(p sendertest.Point, x sendertest.Result[[]*item]) bool {
				take(x.Value...)
				if x.Channel == sendertest.OnValue {
					return s.Result.Channel == sendertest.OnValue && len(x.Value) == 5 && inOrder(x.Value, false)
				}
				return passedOn(s, p, sendertest.Result[unit]{Channel: x.Channel, Err: x.Err})
			},
			Endless: s.Endless, Restartable: true, Rounds: 5,
		})
	})
}

func TestFrom(t *testing.T) {
	sendertest.CheckSequence(t, seq.From(slices.Values([]int{1, 2, 3})), sendertest.SequenceOptions[int]{
		Accept: func(p sendertest.Point, items []int, x sendertest.Result[unit]) bool {
			if x.Channel == sendertest.OnStopped {
				return mayStop(p) && (!isStopped(p) || len(items) == 0)
			}
			return x.Channel == sendertest.OnValue && slices.Equal(items, []int{1, 2, 3})
		},
		Restartable: true,
	})
}

func TestOf(t *testing.T) {
	sendertest.CheckSequence(t, seq.Of(1, 2, 3), sendertest.SequenceOptions[int]{
		Accept: func(p sendertest.Point, items []int, x sendertest.Result[unit]) bool {
			if x.Channel == sendertest.OnStopped {
				return mayStop(p) && (!isStopped(p) || len(items) == 0)
			}
			return x.Channel == sendertest.OnValue && slices.Equal(items, []int{1, 2, 3})
		},
		Restartable: true,
	})
}

func TestFromAnIteratorThatPanics(t *testing.T) {
	sendertest.CheckSequence(t, seq.From(func(yield func(int) bool) { yield(1); panic("iterator") }),
		sendertest.SequenceOptions[int]{
			Accept: func(p sendertest.Point, items []int, x sendertest.Result[unit]) bool {
				return x.String() == "error sender: panic: iterator" || mayStop(p) && x.Channel == sendertest.OnStopped
			},
			Restartable: true,
		})
}

// A chain of adaptors forwards stop requests, and loses no item.
func TestChain(t *testing.T) {
	eachLeaf(t, func(t *testing.T, s *leaf, l *ledger) {
		odd := seq.Filter(s, func(i *item) bool { return i.n%2 == 1 }, l.drop)
		two := seq.Take(seq.Transform(odd, func(i *item) *item { return i }, l.drop), 2, l.drop)
		sendertest.CheckSequence(t, two, sendertest.SequenceOptions[*item]{
			Accept: func(p sendertest.Point, items []*item, x sendertest.Result[unit]) bool {
				take(items...)
				return len(items) == 2 && x.Channel == sendertest.OnValue || mayStop(p) && x.Channel == sendertest.OnStopped
			},
			Restartable: true, Rounds: 5,
		})
	})
}

func TestCompletion(t *testing.T) {
	inline := seq.Of(1)
	take := seq.Take(seq.Filter(seq.Transform(inline, func(n int) int { return n }, nil),
		func(int) bool { return true }, nil), 1, nil)
	both := seq.Merge(take, seq.Merge(inline, inline))
	one := seq.Merge(inline, count(1))
	all := seq.MergeSlice([]seq.OfSequence[int]{inline}, 1)
	iterator := seq.From(slices.Values([]int{1}))
	each := seq.ForEach(both, func(int) error { return nil }, nil)
	sum := seq.Reduce(one, 0, func(n, _ int) int { return n }, nil)
	list := seq.Collect(all, nil)
	for name, c := range map[string]struct{ got, want sender.CompletionBehavior }{
		"Take": {sender.CompletionBehaviorOf(&take), sender.Inline}, "Merge": {sender.CompletionBehaviorOf(&both),
			sender.Inline},
		"Merge with count": {sender.CompletionBehaviorOf(&one),
			sender.Anywhere}, "MergeSlice": {sender.CompletionBehaviorOf(&all), sender.Inline},
		"From": {sender.CompletionBehaviorOf(&iterator), sender.Inline}, "ForEach": {sender.CompletionBehaviorOf(&each),
			sender.Inline},
		"Reduce": {sender.CompletionBehaviorOf(&sum), sender.Anywhere}, "Collect": {sender.CompletionBehaviorOf(&list),
			sender.Inline},
	} {
		if c.got != c.want {
			t.Errorf("%s completes %v, want %v", name, c.got, c.want)
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	if sendertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	yes := func(int) bool { return true }
	same := func(n int) int { return n }
	nop := func(int) error { return nil }
	checkAllocs(t, "Transform", seq.Transform(count(9), same, nil))
	checkAllocs(t, "Filter", seq.Filter(count(9), yes, nil))
	checkAllocs(t, "Take", seq.Take(count(9), 3, nil))
	checkAllocs(t, "Merge", seq.Merge(count(9), count(9)))
	checkAllocs(t, "Merge of four", seq.Merge(seq.Merge(count(9), count(9)), seq.Merge(count(9), count(9))))
	checkAllocs(t, "MergeSlice", seq.MergeSlice([]count{9, 9, 9}, 2)) // the second time on
	checkAllocs(t, "Of", seq.Of(1, 2, 3))
	checkSenderAllocs(t, "ForEach", seq.ForEach(count(9), nop, nil))
}

func checkAllocs[O any, S seq.Sequence[int, O]](t *testing.T, name string, s S) {
	t.Helper()
	op, r := new(O), new(sum)
	n := testing.AllocsPerRun(100, func() { s.Connect(op, r).Start() })
	if n != 0 || r.completions != 101 || r.total == 0 {
		t.Errorf("%s: %v allocations for connect and start, want 0; %d completions", name, n, r.completions)
	}
}

func checkSenderAllocs[O any, S sender.Sender[unit, O]](t *testing.T, name string, s S) {
	t.Helper()
	op, r := new(O), new(sum)
	if n := testing.AllocsPerRun(100, func() { s.Connect(op, r).Start() }); n != 0 || r.completions != 101 {
		t.Errorf("%s: %v allocations for connect and start, want 0; %d completions", name, n, r.completions)
	}
}

// eachPair runs f for two sources on separate threads that behave in every way.
func eachPair(t *testing.T, f func(t *testing.T, a, b *leaf, l *ledger)) {
	thA, thB := sendertest.NewThread(t), sendertest.NewThread(t)
	ends := []sendertest.Result[unit]{sendertest.Value(unit{}), sendertest.Error[unit](errLeaf),
		sendertest.Stopped[unit](), {}}
	actions := []sendertest.Action{sendertest.Inline, sendertest.Later}
	for _, startA := range actions {
		for _, startB := range actions {
			for _, onStop := range actions {
				for _, xA := range ends {
					for _, xB := range ends {
						l := new(ledger)
						a, b := l.newLeaf(thA), l.newLeaf(thB)
						a.OnStart, a.OnStop, a.Result, a.Endless = startA, onStop, xA, xA.Channel == sendertest.None
						b.OnStart, b.OnStop, b.Result, b.Endless = startB, onStop, xB, xB.Channel == sendertest.None
						t.Run(fmt.Sprintf("%v %v; %v %v; on stop %v", startA, xA, startB, xB, onStop), func(t *testing.T) {
							f(t, a, b, l)
							l.audit(t)
							if n := a.InFlight() + b.InFlight(); n != 0 {
								t.Errorf("%d sources in flight at the end", n)
							}
						})
					}
				}
			}
		}
	}
}

// merged returns the options for a merge of a and b.
func merged(a, b *leaf, rounds int) sendertest.SequenceOptions[*item] {
	fails := func(s *leaf) bool { return s.Result.Channel == sendertest.OnError }
	stops := func(s *leaf) bool { return s.Result.Channel == sendertest.OnStopped }
	return sendertest.SequenceOptions[*item]{
		Accept: func(p sendertest.Point, items []*item, x sendertest.Result[unit]) bool {
			take(items...)
			switch x.Channel {
			case sendertest.OnValue:
				return a.Result.Channel == sendertest.OnValue && b.Result.Channel == sendertest.OnValue && len(items) == 10
			case sendertest.OnError:
				return fails(a) || fails(b)
			}
			return mayStop(p) || stops(a) || stops(b)
		},
		Endless: a.Endless && b.Endless || a.Endless && b.Result.Channel == sendertest.OnValue ||
			b.Endless && a.Result.Channel == sendertest.OnValue,
		Restartable: true, Rounds: rounds,
	}
}

func TestMerge(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf, l *ledger) {
		sendertest.CheckSequence(t, seq.Merge(a, b), merged(a, b, 2))
	})
}

func TestMergeSlice(t *testing.T) {
	for _, bound := range []int{0, 1, 2} {
		t.Run(fmt.Sprint(bound), func(t *testing.T) {
			eachPair(t, func(t *testing.T, a, b *leaf, l *ledger) {
				o := merged(a, b, 1)
				if bound == 1 { // the first may keep the second from being started
					o.Endless = o.Endless || a.Endless
				}
				sendertest.CheckSequence(t, seq.MergeSlice([]*leaf{a, b}, bound), o)
			})
		})
	}
}

func TestMergeOfMore(t *testing.T) {
	th := sendertest.NewThread(t)
	for _, onStart := range []sendertest.Action{sendertest.Inline, sendertest.Later} {
		l := new(ledger)
		var s [4]*leaf
		for i := range s {
			s[i] = l.newLeaf(th)
			s[i].OnStart = onStart
		}
		o := func(n int) sendertest.SequenceOptions[*item] {
			return sendertest.SequenceOptions[*item]{
				Accept: func(p sendertest.Point, items []*item, x sendertest.Result[unit]) bool {
					take(items...)
					return x.Channel == sendertest.OnValue && len(items) == 5*n || mayStop(p) && x.Channel == sendertest.OnStopped
				},
				Restartable: true,
			}
		}
		sendertest.CheckSequence(t, seq.Merge(seq.Merge(s[0], s[1]), s[2]), o(3))
		sendertest.CheckSequence(t, seq.Merge(seq.Merge(s[0], s[1]), seq.Merge(s[2], s[3])), o(4))
		l.audit(t)
	}
}

// No more sources are in flight than the limit allows, and they are started in order.
func TestMergeBound(t *testing.T) {
	for _, bound := range []int{1, 3, 7, 0} {
		th := sendertest.NewThread(t)
		const n = 20
		var inProgress, most int
		var order []int
		sources := make([]*sendertest.SequenceLeaf[int], n)
		for i := range sources {
			sources[i] = &sendertest.SequenceLeaf[int]{
				Items: func() []int {
					order = append(order, i)
					inProgress++
					most = max(most, inProgress)
					return []int{i, i}
				},
				OnStart: sendertest.Later, Thread: th, Result: sendertest.Value(unit{}),
			}
		}
		var op seq.MergeSliceOp[int, sendertest.SequenceLeafOp[int]]
		rec, done := new(sendertest.SequenceRecorder[int]), make(chan unit)
		rec.T = t
		seen := make([]int, n)
		rec.Next = func(i int) {
			if seen[i]++; seen[i] == 2 {
				inProgress--
			}
		}
		rec.Then = func(sendertest.Result[unit]) { close(done) }
		seq.MergeSlice(sources, bound).Connect(&op, rec)
		rec.Starting()
		th.Do(op.Start)
		<-done
		want := bound
		if bound == 0 {
			want = n
		}
		if most > want || len(rec.Items()) != 2*n || !slices.IsSorted(order) {
			t.Errorf("limit %d: %d sources in flight, %d items, started in the order %v", bound, most, len(rec.Items()), order)
		}
	}
}

func TestMergeOfNone(t *testing.T) {
	sendertest.CheckSequence(t, seq.MergeSlice([]count{}, 3), sendertest.SequenceOptions[int]{
		Accept: func(p sendertest.Point, items []int, x sendertest.Result[unit]) bool {
			if x.Channel == sendertest.OnStopped {
				return mayStop(p)
			}
			return x.Channel == sendertest.OnValue && !isStopped(p)
		},
		Restartable: true,
	})
}

// However many sources complete inside Start, the stack does not grow.
func TestMergeDoesNotRecurse(t *testing.T) {
	deepest := 0
	sources := make([]count, 10_000)
	for i := range sources {
		sources[i] = 1
	}
	depth := func(int) error {
		if n := runtime.Callers(0, make([]uintptr, 1000)); n > deepest {
			deepest = n
		}
		return nil
	}
	if _, err := sender.SyncWait(context.Background(),
		seq.ForEach(seq.MergeSlice(sources, 1), depth, nil)); err != nil || deepest > 40 {
		t.Errorf("%d frames deep; %v", deepest, err)
	}
}

// An item that comes from inside of SetNext, or from another thread meanwhile, waits until that has
// returned, and is not lost.
func TestMergeDeliversOneAtATime(t *testing.T) {
	a, b := &valve{}, &valve{}
	rec := new(sendertest.SequenceRecorder[int])
	rec.T = t
	rec.Next = func(n int) {
		if n == 1 {
			b.r.SetNext(10)
			done := make(chan unit)
			go func() { b.r.SetNext(11); b.r.SetNext(12); close(done) }()
			<-done
		}
	}
	var op seq.MergeOp[int, valveOp, valveOp]
	seq.Merge(a, b).Connect(&op, rec)
	rec.Starting()
	op.Start()
	a.r.SetNext(1)
	a.r.SetNext(2)
	a.r.SetValue(unit{})
	b.r.SetNext(13)
	b.r.SetValue(unit{})
	if got := strings.Trim(fmt.Sprint(rec.Items()), "[]"); got != "1 10 11 12 2 13" {
		t.Errorf("delivered %s", got)
	}
	if x := rec.Result(); x.Channel != sendertest.OnValue {
		t.Errorf("completed with %v", x)
	}
}

// Many items of two concurrent threads all arrive, each thread's in its order.
func TestMergeOfTwoThreads(t *testing.T) {
	const n = 20_000
	a, b := &valve{}, &valve{}
	next := [2]int{}
	f := func(i int) error {
		if i/2 != next[i%2] {
			return fmt.Errorf("item %d when %d was due", i, next[i%2])
		}
		next[i%2]++
		return nil
	}
	var op seq.ForEachOp[int, seq.MergeOp[int, valveOp, valveOp]]
	rec, done := new(sendertest.Recorder[unit]), make(chan unit)
	rec.T, rec.Stop = t, new(stop.Source)
	rec.Then = func(sendertest.Result[unit]) { close(done) }
	seq.ForEach(seq.Merge(a, b), f, nil).Connect(&op, rec)
	rec.Starting()
	op.Start()
	for i, v := range []*valve{a, b} {
		go func() {
			for k := range n {
				v.r.SetNext(2*k + i)
			}
			v.r.SetValue(unit{})
		}()
	}
	<-done
	if x := rec.Result(); x.Channel != sendertest.OnValue || next != [2]int{n, n} {
		t.Errorf("completed with %v after %v items", x, next)
	}
}

// valve is a source whose receiver the test calls.
type valve struct{ r seq.Receiver[int] }

type valveOp struct {
	v *valve
	r seq.Receiver[int]
}

func (v *valve) Connect(op *valveOp, r seq.Receiver[int]) sender.Operation {
	op.v, op.r = v, r
	return op
}
func (op *valveOp) Start() { op.v.r = op.r }
