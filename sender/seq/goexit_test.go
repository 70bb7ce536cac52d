package seq_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/seq"
)

func exit[A, B any](A) B {
	runtime.Goexit()
	panic("unreachable")
}

// Whichever function calls Goexit, the sequence ends with that, and an item that it was not called for is dropped.
func TestGoexitIsAnError(t *testing.T) {
	source := seq.Of(1, 2, 3)
	dropped := 0
	drop := func(int) { dropped++ }
	yields := func(yield func(int) bool) {
		for i := 1; i <= 3 && yield(i); i++ {
		}
	}
	for name, c := range map[string]struct {
		s       sender.Any[struct{}]
		dropped int
	}{
		"Transform":       {erase(seq.Transform(source, exit[int, int], drop)), 0},
		"Filter":          {erase(seq.Filter(source, exit[int, bool], drop)), 1},
		"ForEach":         {sender.Erase(seq.ForEach(source, exit[int, error], drop)), 0},
		"ForEach of From": {sender.Erase(seq.ForEach(seq.From(yields), exit[int, error], drop)), 0}, // it ends the iterator
		"From":            {erase(seq.From(func(func(int) bool) { runtime.Goexit() })), 0},
		"Reduce": {sender.Erase(sender.Then(seq.Reduce(source, 0,
			func(int, int) int { return exit[int, int](0) }, drop), none[int])), 0},
		"Take":  {sender.Erase(seq.ForEach(seq.Take(source, 2, drop), exit[int, error], drop)), 0},
		"Merge": {sender.Erase(seq.ForEach(seq.Merge(source, source), exit[int, error], drop)), 0},
		"MergeSlice": {sender.Erase(seq.ForEach(seq.MergeSlice([]seq.OfSequence[int]{source, source, source}, 1),
			exit[int, error], drop)), 0},
	} {
		dropped = 0
		rec := &sendertest.Recorder[struct{}]{T: t}
		op := sender.StateOf(c.s)
		start := c.s.Connect(op, rec)
		rec.Starting()
		var over sync.WaitGroup
		over.Go(start.Start)
		over.Wait()
		if !rec.Completed() {
			t.Errorf("%s: did not complete", name)
		} else if x := rec.Result(); !errors.Is(x.Err, sender.ErrGoexit) || dropped != c.dropped {
			t.Errorf("%s: completed with %v, %d items were dropped, want %d", name, x, dropped, c.dropped)
		}
	}
}

func none[T any](T) (_ struct{}) { return }

// erase returns a sender that drops the items of s.
func erase[O any, S seq.Sequence[int, O]](s S) sender.Any[struct{}] {
	return sender.Erase(sender.Then(seq.Collect[int, O](s, nil), none[[]int]))
}

// A receiver that calls Goexit for every item gets them all.
func TestItemsOutliveGoexit(t *testing.T) {
	var over sync.WaitGroup
	r := &exiting{}
	merged := seq.Merge(seq.Of(1, 2, 3), seq.Of(4, 5))
	var state seq.MergeOp[int, seq.OfOp[int], seq.OfOp[int]]
	start := merged.Connect(&state, r)
	over.Go(start.Start)
	over.Wait()
	if r.items != 5 || !r.complete {
		t.Errorf("%d items, complete: %v", r.items, r.complete)
	}
}

// exiting is a receiver that calls Goexit for every item.
type exiting struct {
	sender.EmptyEnv
	items    int
	complete bool
}

func (r *exiting) SetNext(int)       { r.items++; runtime.Goexit() }
func (r *exiting) SetValue(struct{}) { r.complete = true }
func (r *exiting) SetError(error)    {}
func (r *exiting) SetStopped()       {}
func (r *exiting) Env() sender.Env   { return r }

// A panic with ErrStopped is an error.
func TestPanicIsNotAStop(t *testing.T) {
	_, err := sender.SyncWait(t.Context(), seq.ForEach(seq.Of(1), func(int) error { panic(sender.ErrStopped) }, nil))
	if _, ok := errors.AsType[*sender.PanicError](err); !ok {
		t.Errorf("completed with %v", err)
	}
}

// The last item that Take wants is the last, also if the receiver calls Goexit for it.
func TestTakeOutlivesGoexit(t *testing.T) {
	var over sync.WaitGroup
	r := &exiting{}
	var state seq.TakeOp[int, seq.OfOp[int]]
	start := seq.Take(seq.Of(1, 2, 3, 4, 5), 2, nil).Connect(&state, r)
	over.Go(start.Start)
	over.Wait()
	if r.items != 2 || !r.complete {
		t.Errorf("%d items, complete: %v", r.items, r.complete)
	}
}

// A merge pays the sources of the items that a receiver called Goexit for.
func TestCreditOutlivesGoexit(t *testing.T) {
	a, b := &meteredValve{}, &meteredValve{}
	r := &exiting{}
	var state seq.MergeOp[int, meteredValveOp, meteredValveOp]
	start := seq.Merge(a, b).Connect(&state, r)
	start.Start()
	var over sync.WaitGroup
	for range 2 {
		over.Go(func() { a.r.SetNext(1) })
		over.Wait()
		over.Go(func() { b.r.SetNext(1) })
		over.Wait()
	}
	start.(seq.Granter).Grant(4)
	if r.items != 4 || a.granted != 2 || b.granted != 2 {
		t.Errorf("%d items, %d and %d granted", r.items, a.granted, b.granted)
	}
}

// meteredValve is a valve with credit.
type meteredValve struct {
	valve
	granted int
}

type meteredValveOp struct {
	valveOp
	v *meteredValve
}

func (v *meteredValve) Connect(op *meteredValveOp, r seq.Receiver[int]) sender.Operation {
	op.v = v
	v.valve.Connect(&op.valveOp, r)
	return op
}

func (op *meteredValveOp) Grant(n int)                 { op.v.granted += n }
func (op *meteredValveOp) Credits() int                { return 1 }
func (op *meteredValveOp) Scheduler() sender.Scheduler { return here{} }
