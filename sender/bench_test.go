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
