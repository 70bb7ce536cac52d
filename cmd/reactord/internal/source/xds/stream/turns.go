package stream

import "time"

// Backoff is the delay before a connection is tried again.
type Backoff struct {
	// Base is the limit after a stream with a response, or after the first round of servers without one. Each further
	// round doubles it.
	Base time.Duration
	// Max is the largest limit.
	Max time.Duration
}

// turns decides which server is next, and after which delay. It is pure: it depends only on its calls and on random.
type turns struct {
	Backoff
	servers int
	random  func() float64 // in [0, 1)

	server int // next server
	tried  int // servers tried in this round, since the last response
	rounds int // complete rounds without a response
}

// ended records the end of an attempt, and returns the delay before the next one: random, up to the limit of the
// round. received tells whether the server has sent a response, elsewhere whether it asked to try another server,
// which needs no delay while others are left in the round.
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

// limit returns the largest delay in this round.
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
