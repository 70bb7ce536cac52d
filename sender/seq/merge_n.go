package seq

import "github.com/reactord/reactord/sender"

// Merge3 is Merge of three sources.
func Merge3[
	T, O1, O2, O3 any,
	S1 Sequence[T, O1], S2 Sequence[T, O2], S3 Sequence[T, O3],
](a S1, b S2, c S3) Merge3Sequence[T, O1, O2, O3, S1, S2, S3] {
	return Merge3Sequence[T, O1, O2, O3, S1, S2, S3]{a, b, c}
}

// Merge3Sequence is what Merge3 returns.
type Merge3Sequence[
	T, O1, O2, O3 any,
	S1 Sequence[T, O1], S2 Sequence[T, O2], S3 Sequence[T, O3],
] struct {
	a S1
	b S2
	c S3
}

// Merge3Op is the operation state of Merge3.
type Merge3Op[T, O1, O2, O3 any] struct {
	merge[T]
	sources [3]mergeSource[T]
	a       O1
	b       O2
	c       O3
	starts  [3]sender.Operation
}

// Connect implements Sequence.
func (s Merge3Sequence[T, O1, O2, O3, S1, S2, S3]) Connect(
	op *Merge3Op[T, O1, O2, O3], r Receiver[T],
) sender.Operation {
	op.prepare(r)
	op.starts[0] = op.sources[0].connected(s.a.Connect(&op.a, op.sources[0].of(&op.merge)))
	op.starts[1] = op.sources[1].connected(s.b.Connect(&op.b, op.sources[1].of(&op.merge)))
	op.starts[2] = op.sources[2].connected(s.c.Connect(&op.c, op.sources[2].of(&op.merge)))
	return op
}

// CompletionBehavior implements sender.CompletionDescriber.
func (s *Merge3Sequence[T, O1, O2, O3, S1, S2, S3]) CompletionBehavior() sender.CompletionBehavior {
	return min(sender.CompletionBehaviorOf(&s.a), sender.CompletionBehaviorOf(&s.b), sender.CompletionBehaviorOf(&s.c))
}

// Start implements sender.Operation.
func (op *Merge3Op[T, O1, O2, O3]) Start() {
	op.merge.start(op.starts[:])
}

// Merge4 is Merge of four sources.
func Merge4[
	T, O1, O2, O3, O4 any,
	S1 Sequence[T, O1], S2 Sequence[T, O2], S3 Sequence[T, O3], S4 Sequence[T, O4],
](a S1, b S2, c S3, d S4) Merge4Sequence[T, O1, O2, O3, O4, S1, S2, S3, S4] {
	return Merge4Sequence[T, O1, O2, O3, O4, S1, S2, S3, S4]{a, b, c, d}
}

// Merge4Sequence is what Merge4 returns.
type Merge4Sequence[
	T, O1, O2, O3, O4 any,
	S1 Sequence[T, O1], S2 Sequence[T, O2], S3 Sequence[T, O3], S4 Sequence[T, O4],
] struct {
	a S1
	b S2
	c S3
	d S4
}

// Merge4Op is the operation state of Merge4.
type Merge4Op[T, O1, O2, O3, O4 any] struct {
	merge[T]
	sources [4]mergeSource[T]
	a       O1
	b       O2
	c       O3
	d       O4
	starts  [4]sender.Operation
}

// Connect implements Sequence.
func (s Merge4Sequence[T, O1, O2, O3, O4, S1, S2, S3, S4]) Connect(
	op *Merge4Op[T, O1, O2, O3, O4], r Receiver[T],
) sender.Operation {
	op.prepare(r)
	op.starts[0] = op.sources[0].connected(s.a.Connect(&op.a, op.sources[0].of(&op.merge)))
	op.starts[1] = op.sources[1].connected(s.b.Connect(&op.b, op.sources[1].of(&op.merge)))
	op.starts[2] = op.sources[2].connected(s.c.Connect(&op.c, op.sources[2].of(&op.merge)))
	op.starts[3] = op.sources[3].connected(s.d.Connect(&op.d, op.sources[3].of(&op.merge)))
	return op
}

// CompletionBehavior implements sender.CompletionDescriber.
func (s *Merge4Sequence[T, O1, O2, O3, O4, S1, S2, S3, S4]) CompletionBehavior() sender.CompletionBehavior {
	return min(sender.CompletionBehaviorOf(&s.a), sender.CompletionBehaviorOf(&s.b), sender.CompletionBehaviorOf(&s.c), sender.CompletionBehaviorOf(&s.d))
}

// Start implements sender.Operation.
func (op *Merge4Op[T, O1, O2, O3, O4]) Start() {
	op.merge.start(op.starts[:])
}
