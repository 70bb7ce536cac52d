package sender_test

import (
	"testing"

	"github.com/reactord/reactord/sender"
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

// waiter is a sender without allocations that completes when it is asked to stop.
type waiter struct{}

type waiterOp struct {
	r      sender.Receiver[int]
	onStop stop.Callback
}

func (waiter) Connect(op *waiterOp, r sender.Receiver[int]) { op.r = r }
func (op *waiterOp) Start()                                 { op.onStop.Register(op.r.Env().StopToken(), op) }
func (op *waiterOp) OnStop() {
	op.onStop.Deregister()
	op.r.SetStopped()
}

func TestNothingAllocates(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	value := func(int) int { return 1 }
	now := sender.Then(sender.Just(unit{}), func(unit) unit { return unit{} })
	checkAllocs(t, "Then", sender.Then(sender.Then(sender.Just(1), inc), value))
	checkAllocs(t, "Let", sender.Let(sender.Just(1), func(n int) sender.JustSender[int] { return sender.Just(n) }))
	checkAllocs(t, "WhenAny", sender.WhenAny(waiter{}, sender.Just(1)))
	checkAllocs(t, "WhenAny3", sender.WhenAny3(waiter{}, sender.Just(1), waiter{}))
	checkAllocs(t, "WhenAnySlice", sender.WhenAnySlice([]waiter{{}, {}}))
	checkAllocs(t, "StopWhen", sender.StopWhen(waiter{}, sender.Just("now")))
	checkAllocs(t, "Timeout", sender.Timeout(waiter{}, now))
	n := 0
	checkAllocs(t, "RepeatUntil", sender.RepeatUntil(sender.Just(1), func(int) bool { n++; return n%8 == 0 }))
}

func checkAllocs[O any, P sender.Operation[O], S sender.Sender[int, O]](t *testing.T, name string, s S) {
	t.Helper()
	op, r := P(new(O)), new(stoppable)
	runs := 0
	allocs := testing.AllocsPerRun(100, func() {
		s.Connect(op, r)
		op.Start()
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
	op, r := stateOf(s), new(sink[unit])
	if n := testing.AllocsPerRun(100, func() {
		s.Connect(op, r)
		op.Start()
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// immediate runs work inside Enqueue.
type immediate struct{}

func (immediate) Enqueue(w *sender.Work) { w.Runner.Run() }
