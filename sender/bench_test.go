package sender_test

import (
	"testing"

	"github.com/reactord/reactord/sender"
)

func BenchmarkThen3ConnectStart(b *testing.B) {
	s := sender.Then(sender.Then(sender.Then(sender.Just(1), inc), inc), inc)
	op, r := stateOf(s), new(sink[int])
	for b.Loop() {
		s.Connect(op, r)
		op.Start()
	}
}

func BenchmarkThen3Start(b *testing.B) {
	s := sender.Then(sender.Then(sender.Then(sender.Just(1), inc), inc), inc)
	op, r := stateOf(s), new(sink[int])
	s.Connect(op, r)
	for b.Loop() {
		op.Start()
	}
}

func benchmark[O any, P sender.Operation[O], S sender.Sender[int, O]](b *testing.B, s S) {
	op, r := P(new(O)), new(stoppable)
	for b.Loop() {
		s.Connect(op, r)
		op.Start()
	}
}

func BenchmarkLet(b *testing.B) { benchmark(b, sender.Let(sender.Just(1), sender.Just[int])) }

func BenchmarkWhenAny(b *testing.B) { benchmark(b, sender.WhenAny(waiter{}, sender.Just(1))) }

func BenchmarkTimeoutInTime(b *testing.B) {
	never := sender.Then(waiter{}, func(int) unit { return unit{} })
	benchmark(b, sender.Timeout(sender.Just(1), never))
}

// A round of Repeat that completes at once.
func BenchmarkRepeatRound(b *testing.B) {
	n := 0
	s := sender.RepeatUntil(sender.Just(1), func(int) bool { n++; return n >= b.N })
	op, r := stateOf(s), new(stoppable)
	s.Connect(op, r)
	b.ResetTimer()
	op.Start()
}

func BenchmarkRepeatStart(b *testing.B) {
	benchmark(b, sender.RepeatUntil(sender.Just(1), func(int) bool { return true }))
}

func BenchmarkSyncWait(b *testing.B) {
	for b.Loop() {
		_, _ = sender.SyncWait(b.Context(), sender.Just(1))
	}
}
