package seq

import "github.com/reactord/reactord/sender"

// Merge3 is Merge of three sources.
func Merge3[
	T, O1, O2, O3 any, P1 sender.Operation[O1], P2 sender.Operation[O2], P3 sender.Operation[O3],
	S1 Sequence[T, O1], S2 Sequence[T, O2], S3 Sequence[T, O3],
](a S1, b S2, c S3) Merge3Sequence[T, O1, O2, O3, P1, P2, P3, S1, S2, S3] {
	return Merge3Sequence[T, O1, O2, O3, P1, P2, P3, S1, S2, S3]{a, b, c}
}

// Merge3Sequence is what Merge3 returns.
type Merge3Sequence[
	T, O1, O2, O3 any, P1 sender.Operation[O1], P2 sender.Operation[O2], P3 sender.Operation[O3],
	S1 Sequence[T, O1], S2 Sequence[T, O2], S3 Sequence[T, O3],
] struct {
	a S1
	b S2
	c S3
}

// Merge3Op is the operation state of Merge3.
type Merge3Op[
	T, O1, O2, O3 any, P1 sender.Operation[O1], P2 sender.Operation[O2], P3 sender.Operation[O3],
] struct {
	merge merge[T]
	a     O1
	b     O2
	c     O3
}

// Connect implements Sequence.
func (s Merge3Sequence[T, O1, O2, O3, P1, P2, P3, S1, S2, S3]) Connect(
	op *Merge3Op[T, O1, O2, O3, P1, P2, P3], r Receiver[T],
) {
	op.merge.r = r
	s.a.Connect(&op.a, &op.merge)
	s.b.Connect(&op.b, &op.merge)
	s.c.Connect(&op.c, &op.merge)
}

// Completion implements sender.Completer.
func (s *Merge3Sequence[T, O1, O2, O3, P1, P2, P3, S1, S2, S3]) Completion() sender.Completion {
	return min(sender.CompletionOf(&s.a), sender.CompletionOf(&s.b), sender.CompletionOf(&s.c))
}

// Start implements sender.Operation.
func (op *Merge3Op[T, O1, O2, O3, P1, P2, P3]) Start() {
	if op.merge.begin(3) {
		P1(&op.a).Start()
		P2(&op.b).Start()
		P3(&op.c).Start()
	}
}

// Merge4 is Merge of four sources.
func Merge4[
	T, O1, O2, O3, O4 any,
	P1 sender.Operation[O1], P2 sender.Operation[O2], P3 sender.Operation[O3], P4 sender.Operation[O4],
	S1 Sequence[T, O1], S2 Sequence[T, O2], S3 Sequence[T, O3], S4 Sequence[T, O4],
](a S1, b S2, c S3, d S4) Merge4Sequence[T, O1, O2, O3, O4, P1, P2, P3, P4, S1, S2, S3, S4] {
	return Merge4Sequence[T, O1, O2, O3, O4, P1, P2, P3, P4, S1, S2, S3, S4]{a, b, c, d}
}

// Merge4Sequence is what Merge4 returns.
type Merge4Sequence[
	T, O1, O2, O3, O4 any,
	P1 sender.Operation[O1], P2 sender.Operation[O2], P3 sender.Operation[O3], P4 sender.Operation[O4],
	S1 Sequence[T, O1], S2 Sequence[T, O2], S3 Sequence[T, O3], S4 Sequence[T, O4],
] struct {
	a S1
	b S2
	c S3
	d S4
}

// Merge4Op is the operation state of Merge4.
type Merge4Op[
	T, O1, O2, O3, O4 any,
	P1 sender.Operation[O1], P2 sender.Operation[O2], P3 sender.Operation[O3], P4 sender.Operation[O4],
] struct {
	merge merge[T]
	a     O1
	b     O2
	c     O3
	d     O4
}

// Connect implements Sequence.
func (s Merge4Sequence[T, O1, O2, O3, O4, P1, P2, P3, P4, S1, S2, S3, S4]) Connect(
	op *Merge4Op[T, O1, O2, O3, O4, P1, P2, P3, P4], r Receiver[T],
) {
	op.merge.r = r
	s.a.Connect(&op.a, &op.merge)
	s.b.Connect(&op.b, &op.merge)
	s.c.Connect(&op.c, &op.merge)
	s.d.Connect(&op.d, &op.merge)
}

// Completion implements sender.Completer.
func (s *Merge4Sequence[T, O1, O2, O3, O4, P1, P2, P3, P4, S1, S2, S3, S4]) Completion() sender.Completion {
	return min(sender.CompletionOf(&s.a), sender.CompletionOf(&s.b), sender.CompletionOf(&s.c), sender.CompletionOf(&s.d))
}

// Start implements sender.Operation.
func (op *Merge4Op[T, O1, O2, O3, O4, P1, P2, P3, P4]) Start() {
	if op.merge.begin(4) {
		P1(&op.a).Start()
		P2(&op.b).Start()
		P3(&op.c).Start()
		P4(&op.d).Start()
	}
}
