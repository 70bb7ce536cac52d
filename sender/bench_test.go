package sender_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/sender"
)

func BenchmarkThen3ConnectStart(b *testing.B) {
	s := sender.Then(sender.Then(sender.Then(sender.Just(1), inc), inc), inc)
	op, r := sender.StateOf(s), new(sink[int])
	for b.Loop() {
		s.Connect(op, r).Start()
	}
}

func BenchmarkThen3Start(b *testing.B) {
	s := sender.Then(sender.Then(sender.Then(sender.Just(1), inc), inc), inc)
	op, r := sender.StateOf(s), new(sink[int])
	start := s.Connect(op, r)
	for b.Loop() {
		start.Start()
	}
}

func benchmark[O any, S sender.Sender[int, O]](b *testing.B, s S) {
	op, r := new(O), new(stoppable)
	for b.Loop() {
		s.Connect(op, r).Start()
	}
}

func BenchmarkLet(b *testing.B) { benchmark(b, sender.Let(sender.Just(1), sender.Just[int])) }

func BenchmarkWhenAny(b *testing.B) { benchmark(b, sender.WhenAny(waiter{}, sender.Just(1))) }

func BenchmarkTimeoutInTime(b *testing.B) {
	never := sender.Then(waiter{}, func(int) unit { return unit{} })
	benchmark(b, sender.Timeout(sender.Just(1), never))
}

// An iteration of Repeat that completes inside Start.
func BenchmarkRepeatRound(b *testing.B) {
	n := 0
	s := sender.RepeatUntil(sender.Just(1), func(int) bool { n++; return n >= b.N })
	op, r := sender.StateOf(s), new(stoppable)
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

func BenchmarkSequence(b *testing.B) { benchmark(b, sender.Sequence(sender.Just(1), sender.Just(2))) }

func BenchmarkFinally(b *testing.B) { benchmark(b, sender.Finally(sender.Just(1), sender.Just(2))) }

func BenchmarkRetryOnce(b *testing.B) {
	benchmark(b, sender.Retry(sender.JustError[int](errLeaf), func(failed int, _ error) bool { return failed < 2 }))
}

func BenchmarkErased(b *testing.B) { benchmark(b, sender.Erase(sender.Just(1))) }

func BenchmarkSpawn(b *testing.B) {
	var scope sender.CountingScope
	b.ReportAllocs()
	for b.Loop() {
		sender.Spawn(&scope, sender.Just(1))
	}
}

// What a Go programmer would use, next to what this package offers.

type pair = sender.All2[int, int]

func sumOf(v sender.All2[pair, pair]) int { return v.A.A + v.A.B + v.B.A + v.B.B }

func BenchmarkAllOf4(b *testing.B) {
	one := sender.Just(1)
	b.Run("WhenAll", func(b *testing.B) {
		b.ReportAllocs()
		benchmark(b, sender.Then(sender.WhenAll(sender.WhenAll(one, one), sender.WhenAll(one, one)), sumOf))
	})
	b.Run("goroutines", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var wg sync.WaitGroup
			var v [4]int
			for i := range v {
				wg.Go(func() { v[i] = 1 })
			}
			wg.Wait()
			if v[0]+v[1]+v[2]+v[3] != 4 {
				b.Fatal("wrong sum")
			}
		}
	})
}

func BenchmarkInTime(b *testing.B) {
	b.Run("Timeout", func(b *testing.B) {
		b.ReportAllocs()
		never := sender.Then(waiter{}, func(int) unit { return unit{} })
		benchmark(b, sender.Timeout(sender.Just(1), never))
	})
	b.Run("context", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
			done := make(chan int, 1)
			done <- 1
			select {
			case <-done:
			case <-ctx.Done():
			}
			cancel()
		}
	})
}

func BenchmarkChainOf4(b *testing.B) {
	b.Run("Then", func(b *testing.B) {
		b.ReportAllocs()
		benchmark(b, sender.Then(sender.Then(sender.Then(sender.Then(sender.Just(1), inc), inc), inc), inc))
	})
	b.Run("channels", func(b *testing.B) {
		b.ReportAllocs()
		in := make(chan int)
		out := in
		for range 4 {
			next := make(chan int)
			go func(from <-chan int) {
				defer close(next)
				for v := range from {
					next <- inc(v)
				}
			}(out)
			out = next
		}
		for b.Loop() {
			in <- 1
			<-out
		}
		close(in)
	})
}
