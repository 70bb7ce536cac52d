package seq_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/sender/stop"
)

// on is a Thread as a scheduler.
type on struct{ *sendertest.Thread }

func (th on) Enqueue(w *sender.Work) { th.Do(w.Runner.Run) }

// metered is the sequence of the numbers 1 to n, delivered on th, with credit: each uses up cost of it.
type metered struct {
	t               *testing.T
	th              on
	n, credit, cost int
}

type meteredOp struct {
	metered
	r   seq.Receiver[int]
	run *meteredRun
}

// meteredRun is one operation in flight. It is not kept in the meteredOp, so that what is left of it on the thread
// does not touch that after the completion.
type meteredRun struct {
	metered
	r       seq.Receiver[int]
	onStop  stop.Callback
	left    int
	next    int
	used    int // of the credit
	granted int
	dormant bool
	over    bool
}

func (s metered) Connect(op *meteredOp, r seq.Receiver[int]) sender.Operation {
	op.metered, op.r = s, r
	return op
}

func (op *meteredOp) Start() {
	run := &meteredRun{metered: op.metered, r: op.r, left: op.credit}
	op.run = run
	op.th.Do(func() {
		run.onStop.Register(run.r.Env().StopToken(), run)
		run.pump()
	})
}

func (run *meteredRun) OnStop() { run.th.Do(run.pump) }

// pump delivers an item, as separate work, so that other work runs in between.
func (run *meteredRun) pump() {
	if run.over {
		return
	}
	stopping := run.r.Env().StopToken().StopRequested()
	switch {
	case stopping || run.next == run.n:
		run.over = true
		run.onStop.Deregister()
		if stopping {
			run.r.SetStopped()
		} else {
			run.r.SetValue(unit{})
		}
	case run.left <= 0:
		run.dormant = true
	default:
		run.left -= run.cost
		run.used += run.cost
		run.next++
		run.r.SetNext(run.next)
		run.th.Do(run.pump)
	}
}

func (op *meteredOp) Grant(n int) {
	run := op.run
	if !run.th.Here() || run.over {
		run.t.Errorf("Grant(%d) on its thread: %v; after the completion: %v", n, run.th.Here(), run.over)
	}
	run.left += n
	if run.granted += n; run.granted > run.used {
		run.t.Errorf("granted %d for %d that were used up", run.granted, run.used)
	}
	if run.dormant && run.left > 0 {
		run.dormant = false
		run.th.Do(run.pump)
	}
}

func (op *meteredOp) Credits() int                { return op.cost }
func (op *meteredOp) Scheduler() sender.Scheduler { return op.th }

// inTime calls SyncWait, but does not wait forever.
func inTime[T, O any, S sender.Sender[T, O]](t *testing.T, s S) (T, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	v, err := sender.SyncWait(ctx, s)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("it stalls")
	}
	return v, err
}

// However small the credit, what ends in a consumer of this package gets everything.
func TestCreditNeverStalls(t *testing.T) {
	for _, credit := range []int{1, 2, 7} {
		for _, cost := range []int{1, 3} {
			t.Run(fmt.Sprint(credit, " ", cost), func(t *testing.T) {
				a := metered{t, on{sendertest.NewThread(t)}, 100, credit, cost}
				b := metered{t, on{sendertest.NewThread(t)}, 100, credit, cost}
				same := func(n int) int { return n }
				odd := func(n int) bool { return n%2 == 1 }
				add := func(sum, _ int) int { return sum + 1 }
				chain := seq.Take(seq.Filter(seq.Transform(a, same, nil), odd, nil), 40, nil)

				n := 0
				count := func(int) error { n++; return nil }
				if _, err := inTime(t, seq.ForEach(chain, count, nil)); n != 40 || err != nil {
					t.Errorf("ForEach: %d items, %v", n, err)
				}
				if n, err := inTime(t, seq.Reduce(a, 0, add, nil)); n != 100 || err != nil {
					t.Errorf("Reduce: %d items, %v", n, err)
				}
				if all, err := inTime(t, seq.Collect(a, nil)); len(all) != 100 || err != nil {
					t.Errorf("Collect: %d items, %v", len(all), err)
				}
				for name, test := range map[string]struct {
					merged sender.Sender[int, sender.AnyOp[int]]
					want   int
				}{
					"Merge":           {sender.Erase(seq.Reduce(seq.Merge(a, b), 0, add, nil)), 200},
					"on one thread":   {sender.Erase(seq.Reduce(seq.Merge(a, a), 0, add, nil)), 200},
					"with a chain":    {sender.Erase(seq.Reduce(seq.Merge(chain, b), 0, add, nil)), 140},
					"without credit":  {sender.Erase(seq.Reduce(seq.Merge(a, seq.Of(1, 2, 3)), 0, add, nil)), 103},
					"filtered":        {sender.Erase(seq.Reduce(seq.Filter(seq.Merge(a, b), odd, nil), 0, add, nil)), 100},
					"Merge of three":  {sender.Erase(seq.Reduce(seq.Merge(seq.Merge(a, b), a), 0, add, nil)), 300},
					"Merge of merges": {sender.Erase(seq.Reduce(seq.Merge(seq.Merge(a, b), seq.Merge(b, a)), 0, add, nil)), 400},
					"MergeSlice":      {sender.Erase(seq.Reduce(seq.MergeSlice([]metered{a, b, a, b, a}, 2), 0, add, nil)), 500},
				} {
					if n, err := inTime(t, test.merged); n != test.want || err != nil {
						t.Errorf("%s: %d items, want %d, %v", name, n, test.want, err)
					}
				}
			})
		}
	}
}

// window is a receiver that keeps a number of items, and grants for those that it has released.
type window struct {
	sender.EmptyEnv
	t      *testing.T
	source seq.Granter
	give   func(grant func()) // calls grant: immediately, or later
	limit  int

	mu   sync.Mutex
	kept int
	n    int
	done chan unit
}

func (w *window) SetNext(int) {
	w.mu.Lock()
	w.n++
	w.kept++
	if w.kept > w.limit {
		w.t.Errorf("%d items are kept with a credit of %d", w.kept, w.limit)
	}
	full := w.kept == w.limit
	w.mu.Unlock()
	if full {
		w.give(func() {
			w.mu.Lock()
			n := w.kept
			w.kept = 0
			w.mu.Unlock()
			w.source.Grant(n)
		})
	}
}

func (w *window) SetValue(unit)   { close(w.done) }
func (w *window) SetError(error)  { w.t.Error("failed") }
func (w *window) SetStopped()     { w.t.Error("stopped") }
func (w *window) Env() sender.Env { return w }

// A receiver that keeps items gets no more at a time than it has granted, through any adaptor, and grants when it
// has released them: where the source is or, if there are several, anywhere.
func TestCreditOfAReceiverThatKeepsItems(t *testing.T) {
	thA, thB := on{sendertest.NewThread(t)}, on{sendertest.NewThread(t)}
	a, b := metered{t, thA, 60, 3, 1}, metered{t, thB, 60, 3, 1}
	yes := func(n int) bool { return n%2 == 0 }
	adapted := seq.Filter(seq.Take(seq.Transform(a, func(n int) int { return n }, nil), 60, nil), yes, nil)
	keeps(t, "a chain, on its thread", adapted, 3, 30, func(grant func()) { thA.Do(grant) })
	keeps(t, "a chain, immediately", adapted, 3, 30, func(grant func()) { grant() })
	keeps(t, "merged on a thread", seq.Merge(a, a), 6, 120, func(grant func()) { thA.Do(grant) })
	elsewhere := on{sendertest.NewThread(t)}
	for range 20 {
		keeps(t, "merged on two, elsewhere", seq.Merge(a, b), 6, 120, func(grant func()) { elsewhere.Do(grant) })
		keeps(t, "merged on two, immediately", seq.Merge(a, b), 6, 120, func(grant func()) { grant() })
		keeps(t, "merged twice", seq.Merge(seq.Merge(a, b), b), 9, 180, func(grant func()) { elsewhere.Do(grant) })
	}
}

func keeps[O any, S seq.Sequence[int, O]](t *testing.T, name string, s S, limit, want int, give func(grant func())) {
	t.Helper()
	w := &window{t: t, limit: limit, give: give, done: make(chan unit)}
	op := new(O)
	start := s.Connect(op, w)
	w.source = any(start).(seq.Granter)
	start.Start()
	select {
	case <-w.done:
	case <-time.After(10 * time.Second):
		t.Errorf("%s stalls", name)
	}
	if w.n != want {
		t.Errorf("%s: %d items, want %d", name, w.n, want)
	}
}

// A merge whose sources are stopped, and complete while a grant is on its way to them, waits for that.
func TestCreditWhenItIsStopped(t *testing.T) {
	a, b := metered{t, on{sendertest.NewThread(t)}, 1000, 1, 1}, metered{t, on{sendertest.NewThread(t)}, 1000, 1, 1}
	for n := range 300 {
		op := new(seq.TakeOp[int, seq.MergeOp[int, meteredOp, meteredOp]])
		rec, done := new(sendertest.SequenceRecorder[int]), make(chan unit)
		rec.T, rec.Stop = t, new(stop.Source)
		rec.Then = func(sendertest.Result[unit]) {
			*op = seq.TakeOp[int, seq.MergeOp[int, meteredOp, meteredOp]]{}
			close(done)
		}
		start := seq.Take(seq.Merge(a, b), n+1, nil).Connect(op, rec)
		granter := any(start).(seq.Granter)
		rec.Next = func(int) { granter.Grant(granter.Credits()) }
		rec.Starting()
		start.Start()
		if n%3 == 0 {
			rec.Stop.RequestStop()
		}
		<-done
		if n%3 != 0 && len(rec.Items()) != n+1 {
			t.Fatalf("%d items, want %d", len(rec.Items()), n+1)
		}
	}
}

// At no time do more than a few items wait, and no more memory is held than those take.
func TestMergeKeepsWhatWaits(t *testing.T) {
	const total = 100_000
	a := &valve{}
	rec := new(sink)
	s := seq.Merge(a, &valve{})
	var op seq.MergeOp[int, valveOp, valveOp]
	n, most := 0, 0
	rec.next = func(int) {
		if n++; n < total {
			a.r.SetNext(n) // comes while this one is being delivered
		}
		if n == 1 {
			a.r.SetNext(n) // and one more, so that there is always one
		}
		most = max(most, seq.Waiting(&op))
	}
	s.Connect(&op, rec).Start()
	a.r.SetNext(0)
	if n < total || most > 16 {
		t.Errorf("%d items, and memory for %d of which two waited", n, most)
	}

	n = 0
	rec.next = func(int) { // thousands wait
		if n++; n == 1 {
			for i := range 10_000 {
				a.r.SetNext(i)
			}
			most = seq.Waiting(&op)
		}
	}
	a.r.SetNext(0)
	if n != 10_001 || most < 10_000 || most > 40_000 || seq.Waiting(&op) > 16 {
		t.Errorf("%d items; memory for %d, and for %d when they had gone", n, most, seq.Waiting(&op))
	}
}

// sink calls a function for each item.
type sink struct {
	sum
	next func(int)
}

func (s *sink) SetNext(n int) { s.next(n) }

func TestCreditAllocatesNothing(t *testing.T) {
	if sendertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	var before, after runtime.MemStats
	a := tick{1 << 20}
	merged := seq.Merge(a, a)
	op := new(seq.ForEachOp[int, seq.MergeOp[int, tickOp, tickOp]])
	start := seq.ForEach(merged, func(int) error { return nil }, nil).Connect(op, new(sum))
	runtime.ReadMemStats(&before)
	start.Start()
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > 100 {
		t.Errorf("%d allocations for %d items with credit", n, 2*a.n)
	}
}

// tick is count with credit, of which it delivers as much as it has inside Start.
type tick struct{ n int }

type tickOp struct {
	n, left int
	r       seq.Receiver[int]
}

func (c tick) Connect(op *tickOp, r seq.Receiver[int]) sender.Operation {
	op.n, op.r = c.n, r
	return op
}

func (op *tickOp) Start() {
	op.left = 1
	for i := 0; i < op.n && op.left > 0; i++ {
		op.left--
		op.r.SetNext(i)
	}
	op.r.SetValue(unit{})
}

func (op *tickOp) Grant(n int)                 { op.left += n }
func (op *tickOp) Credits() int                { return 1 }
func (op *tickOp) Scheduler() sender.Scheduler { return here{} }

type here struct{}

func (here) Enqueue(*sender.Work) { panic("it is here") }
