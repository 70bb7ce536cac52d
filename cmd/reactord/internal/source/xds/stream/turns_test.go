package stream

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func newTurns(servers int) *turns {
	return &turns{
		Backoff: Backoff{Base: time.Second, Max: 2 * time.Minute}, servers: servers,
		random: func() float64 { return 1 }, // the limit
	}
}

func TestTurns(t *testing.T) {
	type end struct {
		received, elsewhere bool
		server              int // whose turn it is then
		wait                time.Duration
	}
	const s = time.Second
	lost, full, served := end{}, end{elsewhere: true}, end{received: true}
	with := func(e end, server int, wait time.Duration) end {
		e.server, e.wait = server, wait
		return e
	}
	for name, c := range map[string]struct {
		servers int
		ends    []end
	}{
		"one server doubles": {1, []end{
			with(lost, 0, s), with(lost, 0, 2*s), with(lost, 0, 4*s), with(lost, 0, 8*s), with(lost, 0, 16*s),
			with(lost, 0, 32*s), with(lost, 0, 64*s), with(lost, 0, 120*s), with(lost, 0, 120*s),
		}},
		"a response starts anew": {1, []end{
			with(lost, 0, s), with(lost, 0, 2*s), with(served, 0, s), with(lost, 0, s), with(lost, 0, 2*s),
		}},
		"a round doubles": {3, []end{
			with(lost, 1, s), with(lost, 2, s), with(lost, 0, s), with(lost, 1, 2*s), with(lost, 2, 2*s), with(lost, 0, 2*s),
			with(lost, 1, 4*s),
		}},
		"another is tried without a wait, once a round": {3, []end{
			with(full, 1, 0), with(full, 2, 0), with(full, 0, s), with(full, 1, 0), with(full, 2, 0), with(full, 0, 2*s),
		}},
		"there is no other": {1, []end{with(full, 0, s), with(full, 0, 2*s)}},
		"the one that served counts": {2, []end{
			with(served, 1, s), with(full, 0, s), with(full, 1, 0), with(full, 0, 2*s),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			turns := newTurns(c.servers)
			for i, e := range c.ends {
				if wait := turns.ended(e.received, e.elsewhere); wait != e.wait || turns.server != e.server {
					t.Errorf("end %d: wait %v, server %d, want %v, %d", i, wait, turns.server, e.wait, e.server)
				}
			}
		})
	}
}

// Waits are spread over the whole time: many clients do not come back together.
func TestJitterIsFull(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var tenths [10]int
	for range 10_000 {
		turns := newTurns(1)
		turns.random = random.Float64
		tenths[turns.ended(true, false)*10/time.Second]++
	}
	for i, n := range tenths {
		if n < 900 || n > 1100 {
			t.Errorf("%d of 10000 waits are in tenth %d", n, i)
		}
	}
}

func TestGreatLimitsDoNotOverflow(t *testing.T) {
	turns := newTurns(1)
	turns.Max = 1 << 62
	for range 100 {
		if wait := turns.ended(false, false); wait <= 0 {
			t.Fatalf("wait %v", wait)
		}
	}
}

// Many clients whose server has died, and is back after a while, do not come back together: they take about as long as
// the server was away, up to the longest wait.
func TestHerd(t *testing.T) {
	const clients = 500
	for _, down := range []time.Duration{0, 5 * time.Second, time.Minute, time.Hour} {
		random := rand.New(rand.NewPCG(1, uint64(down)))
		var each []time.Duration // when each one has come back, after the server
		limit := time.Duration(0)
		for range clients {
			turns := newTurns(1)
			turns.random = random.Float64
			at := turns.ended(true, false) // all streams end in one moment
			for at < down {
				at += turns.ended(false, false)
			}
			each = append(each, at-down)
			limit = max(limit, turns.limit())
		}
		most := 0
		for second := time.Duration(0); second < limit; second += time.Second {
			most = max(most, len(slices.DeleteFunc(slices.Clone(each), func(at time.Duration) bool {
				return at < second || at >= second+time.Second
			})))
		}
		last := slices.Max(each)
		away := max(1, min(down, 2*time.Minute)/time.Second)
		if room := 4 * clients / int(away); most > room || last > limit {
			t.Errorf("down for %v: up to %d clients came in one second, want %d at most; the last after %v of %v",
				down, most, room, last, limit)
		}
		t.Logf("down for %v: up to %d clients in one second; the last after %v; limit %v", down, most, last, limit)
	}
}
