package seq_test

import (
	"testing"

	"github.com/reactord/reactord/sender/seq"
)

// perItem measures what an item costs.
func perItem[O any, S seq.Sequence[int, O]](b *testing.B, of func(count) S) {
	op, r := new(O), new(sum)
	start := of(count(b.N)).Connect(op, r)
	b.ResetTimer()
	start.Start()
}

func BenchmarkItem(b *testing.B) { perItem(b, func(c count) count { return c }) }

func BenchmarkTransformItem(b *testing.B) {
	perItem(b, func(c count) seq.TransformSequence[int, int, countOp, count] {
		return seq.Transform(c, func(n int) int { return n + 1 }, nil)
	})
}

func BenchmarkTakeItem(b *testing.B) {
	perItem(b, func(c count) seq.TakeSequence[int, countOp, count] { return seq.Take(c, int(c), nil) })
}

func BenchmarkMergeItem(b *testing.B) {
	perItem(b, func(c count) seq.MergeSequence[int, countOp, countOp, count, count] {
		return seq.Merge(c, count(0))
	})
}

func BenchmarkTakeConnectStart(b *testing.B) {
	var op seq.TakeOp[int, countOp]
	r, s := new(sum), seq.Take(count(1), 1, nil)
	for b.Loop() {
		s.Connect(&op, r).Start()
	}
}

// BenchmarkCreditItem measures an item that is consumed and granted, behind an adaptor.
func BenchmarkCreditItem(b *testing.B) {
	op := new(seq.ForEachOp[int, seq.TransformOp[int, int, tickOp]])
	same := seq.Transform(tick{b.N}, func(n int) int { return n }, nil)
	start := seq.ForEach(same, func(int) error { return nil }, nil).Connect(op, new(sum))
	b.ResetTimer()
	start.Start()
}
