package seq_test

import (
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
)

// perItem measures what an item costs.
func perItem[O any, P sender.Operation[O], S seq.Sequence[int, O]](b *testing.B, of func(count) S) {
	op, r := P(new(O)), new(sum)
	of(count(b.N)).Connect(op, r)
	b.ResetTimer()
	op.Start()
}

func BenchmarkItem(b *testing.B) { perItem(b, func(c count) count { return c }) }

func BenchmarkTransformItem(b *testing.B) {
	perItem(b, func(c count) seq.TransformSequence[int, int, countOp, *countOp, count] {
		return seq.Transform(c, func(n int) int { return n + 1 }, nil)
	})
}

func BenchmarkTakeItem(b *testing.B) {
	perItem(b, func(c count) seq.TakeSequence[int, countOp, *countOp, count] { return seq.Take(c, int(c), nil) })
}

func BenchmarkMergeItem(b *testing.B) {
	perItem(b, func(c count) seq.MergeSequence[int, countOp, countOp, *countOp, *countOp, count, count] {
		return seq.Merge(c, count(0))
	})
}

func BenchmarkTakeConnectStart(b *testing.B) {
	var op seq.TakeOp[int, countOp, *countOp]
	r, s := new(sum), seq.Take(count(1), 1, nil)
	for b.Loop() {
		s.Connect(&op, r)
		op.Start()
	}
}
