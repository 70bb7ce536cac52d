package stream

import "time"

// Backoff is how long to wait before a connection is tried again.
type Backoff struct {
	// Base is the longest wait after a stream that had a response, or after the first round of servers without one.
	// Each further round doubles it.
	Base time.Duration
	// Max is the longest wait of all.
	Max time.Duration
}

// turns says whose turn it is, and how long to wait before. It is pure: its only input is what happens, and random.
type turns struct {
	Backoff
	servers int
	random  func() float64 // in [0, 1)

	server int // whose turn it is
	tried  int // servers since the last response, in this round
	rounds int // whole rounds without a response
}

// ended notes that the attempt with the server has ended. received: it has sent a response. elsewhere: it asks to try
// another server, so that no wait is needed while there are others in the round. What it returns is the wait before the
// next attempt: random, from nothing to the limit of the round.
func (t *turns) ended(received, elsewhere bool) time.Duration {
	if received {
		t.tried, t.rounds = 0, 0
	}
	t.server = (t.server + 1) % t.servers
	t.tried++
	whole := t.tried >= t.servers
	if elsewhere && !whole {
		return 0
	}
	wait := time.Duration(t.random() * float64(t.limit()))
	if whole {
		t.tried = 0
		if !received {
			t.rounds++
		}
	}
	return wait
}

// limit is the longest wait after as many rounds.
func (t *turns) limit() time.Duration {
	limit := t.Base
	for range t.rounds {
		if limit >= t.Max/2 {
			return t.Max
		}
		limit *= 2
	}
	return min(limit, t.Max)
}
