package sender

// All3 is what WhenAll3 completes with.
type All3[A, B, C any] struct {
	A A
	B B
	C C
}

// WhenAll3 is WhenAll of three senders.
func WhenAll3[
	A, B, C, O1, O2, O3 any,
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3],
](a S1, b S2, c S3) WhenAll3Sender[A, B, C, O1, O2, O3, S1, S2, S3] {
	return WhenAll3Sender[A, B, C, O1, O2, O3, S1, S2, S3]{a, b, c}
}

// WhenAll3Sender is what WhenAll3 returns.
type WhenAll3Sender[
	A, B, C, O1, O2, O3 any,
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3],
] struct {
	a S1
	b S2
	c S3
}

// WhenAll3Op is the operation state of WhenAll3.
type WhenAll3Op[A, B, C, O1, O2, O3 any] struct {
	all    all3[A, B, C]
	a      O1
	b      O2
	c      O3
	starts [3]Operation
}

// Connect implements Sender.
func (s WhenAll3Sender[A, B, C, O1, O2, O3, S1, S2, S3]) Connect(
	op *WhenAll3Op[A, B, C, O1, O2, O3], r Receiver[All3[A, B, C]],
) Operation {
	op.all.r = r
	op.starts[0] = s.a.Connect(&op.a, op.all.a.of(&op.all.join))
	op.starts[1] = s.b.Connect(&op.b, op.all.b.of(&op.all.join))
	op.starts[2] = s.c.Connect(&op.c, op.all.c.of(&op.all.join))
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *WhenAll3Sender[A, B, C, O1, O2, O3, S1, S2, S3]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.a), CompletionBehaviorOf(&s.b), CompletionBehaviorOf(&s.c))
}

// Start implements Operation.
func (op *WhenAll3Op[A, B, C, O1, O2, O3]) Start() {
	if op.all.join.begin(&op.all, op.all.r.Env(), 3) {
		startAll(op.starts[:])
	}
}

// all3 is WhenAll3 without its children.
type all3[A, B, C any] struct {
	join join
	a    part[A]
	b    part[B]
	c    part[C]
	r    Receiver[All3[A, B, C]]
}

func (x *all3[A, B, C]) Finish() {
	v := All3[A, B, C]{x.a.take(), x.b.take(), x.c.take()}
	settle(&x.join, v, x.r)
}

// All4 is what WhenAll4 completes with.
type All4[A, B, C, D any] struct {
	A A
	B B
	C C
	D D
}

// WhenAll4 is WhenAll of four senders.
func WhenAll4[
	A, B, C, D, O1, O2, O3, O4 any,
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3], S4 Sender[D, O4],
](a S1, b S2, c S3, d S4) WhenAll4Sender[A, B, C, D, O1, O2, O3, O4, S1, S2, S3, S4] {
	return WhenAll4Sender[A, B, C, D, O1, O2, O3, O4, S1, S2, S3, S4]{a, b, c, d}
}

// WhenAll4Sender is what WhenAll4 returns.
type WhenAll4Sender[
	A, B, C, D, O1, O2, O3, O4 any,
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3], S4 Sender[D, O4],
] struct {
	a S1
	b S2
	c S3
	d S4
}

// WhenAll4Op is the operation state of WhenAll4.
type WhenAll4Op[A, B, C, D, O1, O2, O3, O4 any] struct {
	all    all4[A, B, C, D]
	a      O1
	b      O2
	c      O3
	d      O4
	starts [4]Operation
}

// Connect implements Sender.
func (s WhenAll4Sender[A, B, C, D, O1, O2, O3, O4, S1, S2, S3, S4]) Connect(
	op *WhenAll4Op[A, B, C, D, O1, O2, O3, O4], r Receiver[All4[A, B, C, D]],
) Operation {
	op.all.r = r
	op.starts[0] = s.a.Connect(&op.a, op.all.a.of(&op.all.join))
	op.starts[1] = s.b.Connect(&op.b, op.all.b.of(&op.all.join))
	op.starts[2] = s.c.Connect(&op.c, op.all.c.of(&op.all.join))
	op.starts[3] = s.d.Connect(&op.d, op.all.d.of(&op.all.join))
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *WhenAll4Sender[A, B, C, D, O1, O2, O3, O4, S1, S2, S3, S4]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.a), CompletionBehaviorOf(&s.b), CompletionBehaviorOf(&s.c), CompletionBehaviorOf(&s.d))
}

// Start implements Operation.
func (op *WhenAll4Op[A, B, C, D, O1, O2, O3, O4]) Start() {
	if op.all.join.begin(&op.all, op.all.r.Env(), 4) {
		startAll(op.starts[:])
	}
}

// all4 is WhenAll4 without its children.
type all4[A, B, C, D any] struct {
	join join
	a    part[A]
	b    part[B]
	c    part[C]
	d    part[D]
	r    Receiver[All4[A, B, C, D]]
}

func (x *all4[A, B, C, D]) Finish() {
	v := All4[A, B, C, D]{x.a.take(), x.b.take(), x.c.take(), x.d.take()}
	settle(&x.join, v, x.r)
}

// All5 is what WhenAll5 completes with.
type All5[A, B, C, D, E any] struct {
	A A
	B B
	C C
	D D
	E E
}

// WhenAll5 is WhenAll of five senders.
func WhenAll5[
	A, B, C, D, E, O1, O2, O3, O4, O5 any,
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3], S4 Sender[D, O4], S5 Sender[E, O5],
](a S1, b S2, c S3, d S4, e S5) WhenAll5Sender[A, B, C, D, E, O1, O2, O3, O4, O5, S1, S2, S3, S4, S5] {
	return WhenAll5Sender[A, B, C, D, E, O1, O2, O3, O4, O5, S1, S2, S3, S4, S5]{a, b, c, d, e}
}

// WhenAll5Sender is what WhenAll5 returns.
type WhenAll5Sender[
	A, B, C, D, E, O1, O2, O3, O4, O5 any,
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3], S4 Sender[D, O4], S5 Sender[E, O5],
] struct {
	a S1
	b S2
	c S3
	d S4
	e S5
}

// WhenAll5Op is the operation state of WhenAll5.
type WhenAll5Op[A, B, C, D, E, O1, O2, O3, O4, O5 any] struct {
	all    all5[A, B, C, D, E]
	a      O1
	b      O2
	c      O3
	d      O4
	e      O5
	starts [5]Operation
}

// Connect implements Sender.
func (s WhenAll5Sender[A, B, C, D, E, O1, O2, O3, O4, O5, S1, S2, S3, S4, S5]) Connect(
	op *WhenAll5Op[A, B, C, D, E, O1, O2, O3, O4, O5], r Receiver[All5[A, B, C, D, E]],
) Operation {
	op.all.r = r
	op.starts[0] = s.a.Connect(&op.a, op.all.a.of(&op.all.join))
	op.starts[1] = s.b.Connect(&op.b, op.all.b.of(&op.all.join))
	op.starts[2] = s.c.Connect(&op.c, op.all.c.of(&op.all.join))
	op.starts[3] = s.d.Connect(&op.d, op.all.d.of(&op.all.join))
	op.starts[4] = s.e.Connect(&op.e, op.all.e.of(&op.all.join))
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *WhenAll5Sender[A, B, C, D, E, O1, O2, O3, O4, O5, S1, S2, S3, S4, S5]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.a), CompletionBehaviorOf(&s.b), CompletionBehaviorOf(&s.c), CompletionBehaviorOf(&s.d), CompletionBehaviorOf(&s.e))
}

// Start implements Operation.
func (op *WhenAll5Op[A, B, C, D, E, O1, O2, O3, O4, O5]) Start() {
	if op.all.join.begin(&op.all, op.all.r.Env(), 5) {
		startAll(op.starts[:])
	}
}

// all5 is WhenAll5 without its children.
type all5[A, B, C, D, E any] struct {
	join join
	a    part[A]
	b    part[B]
	c    part[C]
	d    part[D]
	e    part[E]
	r    Receiver[All5[A, B, C, D, E]]
}

func (x *all5[A, B, C, D, E]) Finish() {
	v := All5[A, B, C, D, E]{x.a.take(), x.b.take(), x.c.take(), x.d.take(), x.e.take()}
	settle(&x.join, v, x.r)
}
