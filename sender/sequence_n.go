package sender

// Sequence3 is Sequence of three senders.
func Sequence3[
	A, B, C, O1, O2, O3 any,
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3],
](a S1, b S2, c S3) Sequence3Sender[A, B, C, O1, O2, O3, S1, S2, S3] {
	return Sequence3Sender[A, B, C, O1, O2, O3, S1, S2, S3]{
		Sequence[A, B, O1, O2](a, b), c,
	}
}

// Sequence3Sender is what Sequence3 returns.
type Sequence3Sender[
	A, B, C, O1, O2, O3 any,
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3],
] = SequenceSender[
	B, C, SequenceOp[A, B, O1, O2], O3,
	SequenceSender[A, B, O1, O2, S1, S2], S3,
]

// Sequence3Op is the operation state of Sequence3.
type Sequence3Op[A, B, C, O1, O2, O3 any] = SequenceOp[B, C, SequenceOp[A, B, O1, O2], O3]

// Sequence4 is Sequence of four senders.
func Sequence4[
	A, B, C, D, O1, O2, O3, O4 any,
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3], S4 Sender[D, O4],
](a S1, b S2, c S3, d S4) Sequence4Sender[A, B, C, D, O1, O2, O3, O4, S1, S2, S3, S4] {
	return Sequence4Sender[A, B, C, D, O1, O2, O3, O4, S1, S2, S3, S4]{
		Sequence3[A, B, C, O1, O2, O3](a, b, c), d,
	}
}

// Sequence4Sender is what Sequence4 returns.
type Sequence4Sender[
	A, B, C, D, O1, O2, O3, O4 any,
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3], S4 Sender[D, O4],
] = SequenceSender[
	C, D, Sequence3Op[A, B, C, O1, O2, O3], O4,
	Sequence3Sender[A, B, C, O1, O2, O3, S1, S2, S3], S4,
]

// Sequence4Op is the operation state of Sequence4.
type Sequence4Op[A, B, C, D, O1, O2, O3, O4 any] = SequenceOp[C, D, Sequence3Op[A, B, C, O1, O2, O3], O4]

// Sequence5 is Sequence of five senders.
func Sequence5[
	A, B, C, D, E, O1, O2, O3, O4, O5 any,
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3], S4 Sender[D, O4], S5 Sender[E, O5],
](a S1, b S2, c S3, d S4, e S5) Sequence5Sender[A, B, C, D, E, O1, O2, O3, O4, O5, S1, S2, S3, S4, S5] {
	return Sequence5Sender[A, B, C, D, E, O1, O2, O3, O4, O5, S1, S2, S3, S4, S5]{
		Sequence4[A, B, C, D, O1, O2, O3, O4](a, b, c, d), e,
	}
}

// Sequence5Sender is what Sequence5 returns.
type Sequence5Sender[
	A, B, C, D, E, O1, O2, O3, O4, O5 any,
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3], S4 Sender[D, O4], S5 Sender[E, O5],
] = SequenceSender[
	D, E, Sequence4Op[A, B, C, D, O1, O2, O3, O4], O5,
	Sequence4Sender[A, B, C, D, O1, O2, O3, O4, S1, S2, S3, S4], S5,
]

// Sequence5Op is the operation state of Sequence5.
type Sequence5Op[A, B, C, D, E, O1, O2, O3, O4, O5 any] = SequenceOp[D, E, Sequence4Op[A, B, C, D, O1, O2, O3, O4], O5]
