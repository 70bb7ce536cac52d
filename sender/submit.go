package sender

// Submit connects s to r and starts it, in storage that Submit allocates: the default algorithm over Connect and
// Start. The storage lives as long as the operation is in flight.
//
// Completion: r is completed where s completes.
//
// Allocation: the operation state.
//
// Source: D2006R1 §5.1.3 (submit).
func Submit[T, O any, S Sender[T, O]](s S, r Receiver[T]) {
	s.Connect(new(O), r).Start()
}
