package proxy

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// restart is a simulation of a backend whose servers are away for a time: clients that come one after the other, and
// what became of them.
type restart struct {
	*simulation
	servers, clients  int
	each              time.Duration // between two clients
	away              time.Duration
	served, reset     int
	shortest, longest time.Duration // until a client was reset
	set               func(*config.Backend)
}

// play plays a seed.
func (r *restart) play(seed uint64, check func(k *simring.Kernel)) error {
	return simring.Play(func(k *simring.Kernel) func() {
		k.Odds = calm(1 << 10)
		r.simulation = &simulation{k: k, talk: program.NewTalk(k)}
		b := Backend{Name: "b", IdleTimeout: time.Hour, HalfCloseTimeout: time.Hour, Set: func(c *config.Backend) {
			c.Retries, c.RetryDelay = 3, time.Second
			if r.set != nil {
				r.set(c)
			}
		}}
		left := r.clients
		for i := range r.servers {
			server := drawServer(k, i)
			b.Servers = append(b.Servers, server)
			k.Go("server", func(t *simring.Thread) {
				t.Until(r.isUp)
				t.Sleep(r.away)
				ln := server.listen(t)
				for {
					fd := t.Accept(ln, func() bool { return left == 0 })
					if fd < 0 {
						break
					}
					_ = k.System().Close(fd)
				}
				_ = k.System().Close(ln)
			})
		}
		k.Go("start", func(*simring.Thread) { r.start(roomy(), b, []*reactor.Loop{program.NewLoop(k)}) })
		for i := range r.clients {
			k.Go("client", func(t *simring.Thread) {
				defer func() { left-- }()
				t.Until(r.isUp)
				t.Sleep(time.Duration(i) * r.each)
				r.client(t)
			})
		}
		k.Go("stopper", func(t *simring.Thread) {
			t.Until(func() bool { return left == 0 })
			r.proxy.each((*worker).drain)
		})
		return func() {
			r.check()
			check(k)
		}
	}, seed, simring.Flawless, nil)
}

// client waits for the end of its connection: EOF of a server that was reached, or a reset.
func (r *restart) client(t *simring.Thread) {
	began := r.k.Now()
	fd, err := t.Dial(r.proxy.Addrs()[0])
	n := 0
	if err == nil {
		defer func() { _ = r.k.System().Close(fd) }()
		for err = unix.EAGAIN; errors.Is(err, unix.EAGAIN); {
			t.Await(fd, false)
			n, err = t.Recv(fd, make([]byte, 1))
		}
	}
	took := time.Duration(r.k.Now() - began)
	switch {
	case n == 0 && err == nil:
		r.served++
	case errors.Is(err, unix.ECONNRESET):
		if r.reset == 0 || took < r.shortest {
			r.shortest = took
		}
		r.reset++
		r.longest = max(r.longest, took)
	default:
		r.k.Errorf("a client has received %d bytes and %v", n, err)
	}
}

// failures returns how many attempts have failed.
func (r *restart) failures() (n uint64) {
	for _, s := range r.proxy.Stats().Servers {
		for _, f := range s.FailuresByReason {
			n += f.Count
		}
	}
	return n
}

// Clients that come while all servers restart are served when these are back: the same servers are tried again.
func TestSimulationOfARestart(t *testing.T) {
	// Two servers use up the retries sooner.
	for servers, away := range map[int]time.Duration{1: time.Second, 2: 700 * time.Millisecond} {
		for seed := range testenv.Seeds(20) {
			r := &restart{servers: servers, clients: 20, each: 50 * time.Millisecond, away: away}
			err := r.play(seed, func(k *simring.Kernel) {
				if r.served != r.clients {
					k.Errorf("%d of %d clients were served", r.served, r.clients)
				}
				if r.failures() == 0 {
					k.Errorf("no attempt has failed")
				}
			})
			if err != nil {
				t.Errorf("%d servers, seed %d: %v", servers, seed, err)
			}
		}
	}
}

// The attempts are bounded in number and in time, and have their delay between them.
func TestSimulationOfARestartThatTakesTooLong(t *testing.T) {
	const slack = 100 * time.Millisecond
	for name, test := range map[string]struct {
		set               func(*config.Backend)
		attempts          uint64 // of each client
		shortest, longest time.Duration
	}{
		"retries": {func(*config.Backend) {}, 4, 2250 * time.Millisecond, 3750*time.Millisecond + slack},
		"delay": {func(c *config.Backend) { c.RetryDelay = 4 * time.Second },
			4, 9 * time.Second, 15*time.Second + slack},
		"total timeout": {func(c *config.Backend) { c.TotalConnectTimeout = 1500 * time.Millisecond },
			2, 1500 * time.Millisecond, 1500*time.Millisecond + slack},
		"no delay": {func(c *config.Backend) { c.RetryDelay = 0 }, 1, 0, slack},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range testenv.Seeds(5) {
				r := &restart{servers: 1, clients: 5, each: time.Millisecond, away: time.Minute, set: test.set}
				err := r.play(seed, func(k *simring.Kernel) {
					if r.reset != r.clients || r.failures() > test.attempts*uint64(r.clients) {
						k.Errorf("%d of %d clients were reset after %d attempts", r.reset, r.clients, r.failures())
					}
					if r.shortest < test.shortest || r.longest > test.longest {
						k.Errorf("clients were reset after %v to %v, want %v to %v",
							r.shortest, r.longest, test.shortest, test.longest)
					}
				})
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// Clients wait for the retry budget instead of being lost immediately, and it bounds their attempts.
func TestSimulationOfARestartWithinTheBudget(t *testing.T) {
	for seed := range testenv.Seeds(20) {
		r := &restart{servers: 1, clients: 20, each: time.Millisecond, away: time.Second,
			set: func(c *config.Backend) { c.RetryBudget, c.Retries = config.RetryBudget{Percent: 1, Min: 5}, 10 }}
		err := r.play(seed, func(k *simring.Kernel) {
			if r.served != r.clients {
				k.Errorf("%d of %d clients were served", r.served, r.clients)
			}
			if n := r.failures(); n > 20+3*5 { // the first attempts, and those of the seconds until the server is back
				k.Errorf("%d attempts have failed", n)
			}
			if r.proxy.Stats().Backends[0].RetriesRefused == 0 {
				k.Errorf("the budget was not needed")
			}
		})
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
