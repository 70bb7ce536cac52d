package sender

// WhenAny3 is WhenAny of three senders.
func WhenAny3[
	T, O1, O2, O3 any,
	S1 Sender[T, O1], S2 Sender[T, O2], S3 Sender[T, O3],
](a S1, b S2, c S3) WhenAny3Sender[T, O1, O2, O3, S1, S2, S3] {
	return WhenAny3Sender[T, O1, O2, O3, S1, S2, S3]{a, b, c}
}

// WhenAny3Sender is what WhenAny3 returns.
type WhenAny3Sender[
	T, O1, O2, O3 any,
	S1 Sender[T, O1], S2 Sender[T, O2], S3 Sender[T, O3],
] struct {
	a S1
	b S2
	c S3
}

// WhenAny3Op is the operation state of WhenAny3.
type WhenAny3Op[T, O1, O2, O3 any] struct {
	race   race[T]
	a      O1
	b      O2
	c      O3
	starts [3]Operation
}

// Connect implements Sender.
func (s WhenAny3Sender[T, O1, O2, O3, S1, S2, S3]) Connect(
	op *WhenAny3Op[T, O1, O2, O3], r Receiver[T],
) Operation {
	op.race.r = r
	op.starts[0] = s.a.Connect(&op.a, &op.race)
	op.starts[1] = s.b.Connect(&op.b, &op.race)
	op.starts[2] = s.c.Connect(&op.c, &op.race)
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *WhenAny3Sender[T, O1, O2, O3, S1, S2, S3]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.a), CompletionBehaviorOf(&s.b), CompletionBehaviorOf(&s.c))
}

// Start implements Operation.
func (op *WhenAny3Op[T, O1, O2, O3]) Start() {
	if op.race.begin(3) {
		startAll(op.starts[:])
	}
}

// WhenAny4 is WhenAny of four senders.
func WhenAny4[
	T, O1, O2, O3, O4 any,
	S1 Sender[T, O1], S2 Sender[T, O2], S3 Sender[T, O3], S4 Sender[T, O4],
](a S1, b S2, c S3, d S4) WhenAny4Sender[T, O1, O2, O3, O4, S1, S2, S3, S4] {
	return WhenAny4Sender[T, O1, O2, O3, O4, S1, S2, S3, S4]{a, b, c, d}
}

// WhenAny4Sender is what WhenAny4 returns.
type WhenAny4Sender[
	T, O1, O2, O3, O4 any,
	S1 Sender[T, O1], S2 Sender[T, O2], S3 Sender[T, O3], S4 Sender[T, O4],
] struct {
	a S1
	b S2
	c S3
	d S4
}

// WhenAny4Op is the operation state of WhenAny4.
type WhenAny4Op[T, O1, O2, O3, O4 any] struct {
	race   race[T]
	a      O1
	b      O2
	c      O3
	d      O4
	starts [4]Operation
}

// Connect implements Sender.
func (s WhenAny4Sender[T, O1, O2, O3, O4, S1, S2, S3, S4]) Connect(
	op *WhenAny4Op[T, O1, O2, O3, O4], r Receiver[T],
) Operation {
	op.race.r = r
	op.starts[0] = s.a.Connect(&op.a, &op.race)
	op.starts[1] = s.b.Connect(&op.b, &op.race)
	op.starts[2] = s.c.Connect(&op.c, &op.race)
	op.starts[3] = s.d.Connect(&op.d, &op.race)
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *WhenAny4Sender[T, O1, O2, O3, O4, S1, S2, S3, S4]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.a), CompletionBehaviorOf(&s.b), CompletionBehaviorOf(&s.c), CompletionBehaviorOf(&s.d))
}

// Start implements Operation.
func (op *WhenAny4Op[T, O1, O2, O3, O4]) Start() {
	if op.race.begin(4) {
		startAll(op.starts[:])
	}
}

// WhenAny5 is WhenAny of five senders.
func WhenAny5[
	T, O1, O2, O3, O4, O5 any,
	S1 Sender[T, O1], S2 Sender[T, O2], S3 Sender[T, O3], S4 Sender[T, O4], S5 Sender[T, O5],
](a S1, b S2, c S3, d S4, e S5) WhenAny5Sender[T, O1, O2, O3, O4, O5, S1, S2, S3, S4, S5] {
	return WhenAny5Sender[T, O1, O2, O3, O4, O5, S1, S2, S3, S4, S5]{a, b, c, d, e}
}

// WhenAny5Sender is what WhenAny5 returns.
type WhenAny5Sender[
	T, O1, O2, O3, O4, O5 any,
	S1 Sender[T, O1], S2 Sender[T, O2], S3 Sender[T, O3], S4 Sender[T, O4], S5 Sender[T, O5],
] struct {
	a S1
	b S2
	c S3
	d S4
	e S5
}

// WhenAny5Op is the operation state of WhenAny5.
type WhenAny5Op[T, O1, O2, O3, O4, O5 any] struct {
	race   race[T]
	a      O1
	b      O2
	c      O3
	d      O4
	e      O5
	starts [5]Operation
}

// Connect implements Sender.
func (s WhenAny5Sender[T, O1, O2, O3, O4, O5, S1, S2, S3, S4, S5]) Connect(
	op *WhenAny5Op[T, O1, O2, O3, O4, O5], r Receiver[T],
) Operation {
	op.race.r = r
	op.starts[0] = s.a.Connect(&op.a, &op.race)
	op.starts[1] = s.b.Connect(&op.b, &op.race)
	op.starts[2] = s.c.Connect(&op.c, &op.race)
	op.starts[3] = s.d.Connect(&op.d, &op.race)
	op.starts[4] = s.e.Connect(&op.e, &op.race)
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *WhenAny5Sender[T, O1, O2, O3, O4, O5, S1, S2, S3, S4, S5]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.a), CompletionBehaviorOf(&s.b), CompletionBehaviorOf(&s.c), CompletionBehaviorOf(&s.d), CompletionBehaviorOf(&s.e))
}

// Start implements Operation.
func (op *WhenAny5Op[T, O1, O2, O3, O4, O5]) Start() {
	if op.race.begin(5) {
		startAll(op.starts[:])
	}
}
