package sender

// Sequence3 is Sequence of three senders.
func Sequence3[
	A, B, C, O1, O2, O3 any, P1 Operation[O1], P2 Operation[O2], P3 Operation[O3],
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3],
](a S1, b S2, c S3) Sequence3Sender[A, B, C, O1, O2, O3, P1, P2, P3, S1, S2, S3] {
	return Sequence3Sender[A, B, C, O1, O2, O3, P1, P2, P3, S1, S2, S3]{
		a, Sequence[B, C, O2, O3, P2, P3](b, c),
	}
}

// Sequence3Sender is what Sequence3 returns.
type Sequence3Sender[
	A, B, C, O1, O2, O3 any, P1 Operation[O1], P2 Operation[O2], P3 Operation[O3],
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3],
] = SequenceSender[
	A, C, O1, SequenceOp[B, C, O2, O3, P2, P3, S3],
	P1, *SequenceOp[B, C, O2, O3, P2, P3, S3],
	S1, SequenceSender[B, C, O2, O3, P2, P3, S2, S3],
]

// Sequence3Op is the operation state of Sequence3.
type Sequence3Op[
	A, B, C, O1, O2, O3 any, P1 Operation[O1], P2 Operation[O2], P3 Operation[O3],
	S2 Sender[B, O2], S3 Sender[C, O3],
] = SequenceOp[
	A, C, O1, SequenceOp[B, C, O2, O3, P2, P3, S3],
	P1, *SequenceOp[B, C, O2, O3, P2, P3, S3],
	SequenceSender[B, C, O2, O3, P2, P3, S2, S3],
]

// Sequence4 is Sequence of four senders.
func Sequence4[
	A, B, C, D, O1, O2, O3, O4 any, P1 Operation[O1], P2 Operation[O2], P3 Operation[O3], P4 Operation[O4],
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3], S4 Sender[D, O4],
](a S1, b S2, c S3, d S4) Sequence4Sender[A, B, C, D, O1, O2, O3, O4, P1, P2, P3, P4, S1, S2, S3, S4] {
	return Sequence4Sender[A, B, C, D, O1, O2, O3, O4, P1, P2, P3, P4, S1, S2, S3, S4]{
		a, Sequence3[B, C, D, O2, O3, O4, P2, P3, P4](b, c, d),
	}
}

// Sequence4Sender is what Sequence4 returns.
type Sequence4Sender[
	A, B, C, D, O1, O2, O3, O4 any, P1 Operation[O1], P2 Operation[O2], P3 Operation[O3], P4 Operation[O4],
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3], S4 Sender[D, O4],
] = SequenceSender[
	A, D, O1, Sequence3Op[B, C, D, O2, O3, O4, P2, P3, P4, S3, S4],
	P1, *Sequence3Op[B, C, D, O2, O3, O4, P2, P3, P4, S3, S4],
	S1, Sequence3Sender[B, C, D, O2, O3, O4, P2, P3, P4, S2, S3, S4],
]

// Sequence4Op is the operation state of Sequence4.
type Sequence4Op[
	A, B, C, D, O1, O2, O3, O4 any, P1 Operation[O1], P2 Operation[O2], P3 Operation[O3], P4 Operation[O4],
	S2 Sender[B, O2], S3 Sender[C, O3], S4 Sender[D, O4],
] = SequenceOp[
	A, D, O1, Sequence3Op[B, C, D, O2, O3, O4, P2, P3, P4, S3, S4],
	P1, *Sequence3Op[B, C, D, O2, O3, O4, P2, P3, P4, S3, S4],
	Sequence3Sender[B, C, D, O2, O3, O4, P2, P3, P4, S2, S3, S4],
]

// Sequence5 is Sequence of five senders.
func Sequence5[
	A, B, C, D, E, O1, O2, O3, O4, O5 any, P1 Operation[O1], P2 Operation[O2], P3 Operation[O3], P4 Operation[O4], P5 Operation[O5],
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3], S4 Sender[D, O4], S5 Sender[E, O5],
](a S1, b S2, c S3, d S4, e S5) Sequence5Sender[A, B, C, D, E, O1, O2, O3, O4, O5, P1, P2, P3, P4, P5, S1, S2, S3, S4, S5] {
	return Sequence5Sender[A, B, C, D, E, O1, O2, O3, O4, O5, P1, P2, P3, P4, P5, S1, S2, S3, S4, S5]{
		a, Sequence4[B, C, D, E, O2, O3, O4, O5, P2, P3, P4, P5](b, c, d, e),
	}
}

// Sequence5Sender is what Sequence5 returns.
type Sequence5Sender[
	A, B, C, D, E, O1, O2, O3, O4, O5 any, P1 Operation[O1], P2 Operation[O2], P3 Operation[O3], P4 Operation[O4], P5 Operation[O5],
	S1 Sender[A, O1], S2 Sender[B, O2], S3 Sender[C, O3], S4 Sender[D, O4], S5 Sender[E, O5],
] = SequenceSender[
	A, E, O1, Sequence4Op[B, C, D, E, O2, O3, O4, O5, P2, P3, P4, P5, S3, S4, S5],
	P1, *Sequence4Op[B, C, D, E, O2, O3, O4, O5, P2, P3, P4, P5, S3, S4, S5],
	S1, Sequence4Sender[B, C, D, E, O2, O3, O4, O5, P2, P3, P4, P5, S2, S3, S4, S5],
]

// Sequence5Op is the operation state of Sequence5.
type Sequence5Op[
	A, B, C, D, E, O1, O2, O3, O4, O5 any, P1 Operation[O1], P2 Operation[O2], P3 Operation[O3], P4 Operation[O4], P5 Operation[O5],
	S2 Sender[B, O2], S3 Sender[C, O3], S4 Sender[D, O4], S5 Sender[E, O5],
] = SequenceOp[
	A, E, O1, Sequence4Op[B, C, D, E, O2, O3, O4, O5, P2, P3, P4, P5, S3, S4, S5],
	P1, *Sequence4Op[B, C, D, E, O2, O3, O4, O5, P2, P3, P4, P5, S3, S4, S5],
	Sequence4Sender[B, C, D, E, O2, O3, O4, O5, P2, P3, P4, P5, S2, S3, S4, S5],
]
