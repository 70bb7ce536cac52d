package sender_test

import (
	"context"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// stoppable is a receiver with a stop token.
type stoppable struct {
	sink[int]
	sender.EmptyEnv
	source stop.Source
}

func (s *stoppable) StopToken() stop.Token { return s.source.Token() }
func (s *stoppable) Env() sender.Env       { return s }

// waiter is a sender without allocations that completes when stop is requested.
type waiter struct{}

type waiterOp struct {
	r      sender.Receiver[int]
	onStop stop.Callback
}

func (waiter) Connect(op *waiterOp, r sender.Receiver[int]) sender.Operation {
	op.r = r
	return op
}
func (op *waiterOp) Start() { op.onStop.Register(op.r.Env().StopToken(), op) }
func (op *waiterOp) OnStop() {
	op.onStop.Deregister()
	op.r.SetStopped()
}

func TestNothingAllocates(t *testing.T) {
	if sendertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	one, fails, stops := sender.Just(1), sender.JustError[int](errLeaf), sender.JustStopped[int]()
	value := func(int) int { return 1 }
	now := sender.Then(sender.Just(unit{}), func(unit) unit { return unit{} })
	checkAllocs(t, "Then", sender.Then(sender.Then(one, inc), value))
	checkAllocs(t, "UponError", sender.UponError(fails, func(error) int { return 1 }))
	checkAllocs(t, "UponStopped", sender.UponStopped(stops, func() int { return 1 }))
	checkAllocs(t, "Let", sender.Let(one, func(n int) sender.JustSender[int] { return sender.Just(n) }))
	checkAllocs(t, "LetError", sender.LetError(fails, func(error) sender.JustSender[int] { return one }))
	checkAllocs(t, "LetStopped", sender.LetStopped(stops, func() sender.JustSender[int] { return one }))
	checkAllocs(t, "Sequence", sender.Sequence(one, one))
	checkAllocs(t, "Sequence of three", sender.Sequence(one, sender.Sequence(one, one)))
	checkAllocs(t, "SequenceSlice", sender.SequenceSlice([]sender.JustSender[int]{one, one, one}))
	checkAllocs(t, "Finally", sender.Finally(waiter{}, one))
	checkAllocs(t, "Fallback", sender.Fallback(fails, one))
	checkAllocs(t, "WhenAll", sender.Then(sender.WhenAll(one, waiter{}), func(sender.All2[int, int]) int { return 1 }))
	checkAllocs(t, "WhenAll of three", sender.Then(sender.WhenAll(one, sender.WhenAll(sender.Just("text"), one)),
		func(x sender.All2[int, sender.All2[string, int]]) int { return x.A }))
	checkAllocs(t, "WhenAny", sender.WhenAny(waiter{}, one))
	checkAllocs(t, "WhenAny of four", sender.WhenAny(sender.WhenAny(waiter{}, one), sender.WhenAny(waiter{}, stops)))
	checkAllocs(t, "WhenAnySlice, connected again", sender.WhenAnySlice([]waiter{{}, {}}))
	checkAllocs(t, "StopWhen", sender.StopWhen(waiter{}, sender.Just("now")))
	checkAllocs(t, "Timeout", sender.Timeout(waiter{}, now))
	n := 0
	checkAllocs(t, "RepeatUntil", sender.RepeatUntil(one, func(int) bool { n++; return n%8 == 0 }))
	checkAllocs(t, "Retry", sender.Retry(fails, func(failed int, _ error) bool { return failed < 8 }))
	checkAllocs(t, "RetryAfter", sender.RetryAfter(fails,
		func(failed int, _ error) (sender.JustSender[int], bool) { return one, failed < 8 }))
	checkAllocs(t, "StartsOn", sender.StartsOn(immediate{}, one))
	checkAllocs(t, "ContinuesOn", sender.ContinuesOn(one, immediate{}))
	checkAllocs(t, "AffineOn, there", sender.AffineOn(one, immediate{}))
	checkAllocs(t, "AffineOn, asks a Let", sender.AffineOn(sender.Let(one, sender.Just[int]), immediate{}))
	checkAllocs(t, "AffineOn, back", sender.AffineOn(waiter{}, immediate{}))
	checkAllocs(t, "WriteEnv", sender.WriteEnv(one, sender.ValueEnv{Key: 1, Val: 1}))
	checkAllocs(t, "Unstoppable", sender.Unstoppable(one))
	checkAllocs(t, "IntoOptional", sender.Then(sender.IntoOptional(one),
		func(x sender.Optional[int]) int { return x.Value }))
	checkAllocs(t, "IntoResult", sender.Then(sender.IntoResult(one), func(x sender.Result[int]) int { return x.Value }))
	checkAllocs(t, "Bulk", sender.Bulk(one, 3, func(int, int) {}))
	checkAllocs(t, "ReadEnv", sender.ReadEnv(func(e sender.Env) int {
		if e.StopToken().StopRequested() {
			return 0
		}
		return 1
	}))
	checkAllocs(t, "FromFunc", sender.FromFunc(func() (int, error) { return 1, nil }))
	checkAllocs(t, "FromContext, never done", sender.FromContext(context.WithoutCancel(t.Context()), waiter{}))
	checkAllocs(t, "Split, consumer", sender.Split(one))
	checkAllocs(t, "SpawnFuture, consumer", sender.SpawnFuture(new(sender.CountingScope), one))
	checkAllocs(t, "Join", sender.Then(new(sender.CountingScope).Join(), func(unit) int { return 1 }))
	checkAllocs(t, "Erase, connected again", sender.Erase(sender.Then(one, inc)))
}

// What allocates does so as often as it says.
func TestAllocationsAreAsStated(t *testing.T) {
	if sendertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	one := sender.Just(1)
	scope := new(sender.CountingScope)
	sender.Spawn(scope, one)
	r := new(sink[int])
	erased, op := sender.Erase(sender.Then(one, inc)), new(sender.AnyOp[int])
	for _, test := range []struct {
		name string
		want float64
		f    func()
	}{
		{"Erase, connected", 1, func() { *op = sender.AnyOp[int]{}; erased.Connect(op, r) }},
		{"Submit", 1, func() { sender.Submit(one, r) }},
		{"StartDetached", 1, func() { sender.StartDetached(one) }},
		{"Spawn", 1, func() { sender.Spawn(scope, one) }},
		{"SpawnFuture", 1, func() { sender.SpawnFuture(scope, one) }},
		{"Split", 1, func() { sender.Split(one) }},
		{"AsFuture", 2, func() { sender.AsFuture(one) }},
	} {
		if n := testing.AllocsPerRun(100, test.f); n != test.want {
			t.Errorf("%s: %v allocations, want %v", test.name, n, test.want)
		}
	}
}

func checkAllocs[O any, S sender.Sender[int, O]](t *testing.T, name string, s S) {
	t.Helper()
	op, r := new(O), new(stoppable)
	runs := 0
	allocs := testing.AllocsPerRun(100, func() {
		s.Connect(op, r).Start()
		r.source.RequestStop()
		r.source.Reset()
		runs++
	})
	if allocs != 0 {
		t.Errorf("%s: %v allocations for connect and start, want 0", name, allocs)
	}
	if r.n != runs {
		t.Errorf("%s: %d completions of %d starts", name, r.n, runs)
	}
}

func TestScheduleDoesNotAllocate(t *testing.T) {
	s := sender.Schedule(immediate{})
	op, r := sender.StateOf(s), new(sink[unit])
	if n := testing.AllocsPerRun(100, func() {
		s.Connect(op, r).Start()
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// immediate runs work inside Enqueue.
type immediate struct{}

func (immediate) Enqueue(w *sender.Work) { w.Runner.Run() }
