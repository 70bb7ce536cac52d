package sender

// Submit connects s to r and starts it, in storage of its own: the default algorithm over Connect and
// Start, at one allocation. r is completed where s completes. The storage lives as long as somebody
// refers to it, as whoever is to complete it does.
//
// Source: D2006R1 §5.1.3 (submit).
func Submit[T, O any, S Sender[T, O]](s S, r Receiver[T]) {
	s.Connect(new(O), r).Start()
}
