package upstream

import (
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// Servers come and go 100 times a second while two loops use them. Every connect is counted, groups are right, and
// those that have left are freed.
func TestChurn(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		r := run(t, ring, 3)
		const fleet, changes = 40, 100
		settings := backend("a", 0, func(c *config.Backend) {
			c.Ejection = config.Ejection{Failures: 3, Time: 5 * time.Millisecond, MaxTime: 20 * time.Millisecond, MaxPercent: 50}
		}).Settings
		b := r.commit(backend("a", fleet))["a"]
		var users [2]*user
		for i := range users {
			users[i] = &user{loop: r.loops[1+i], backend: b, rng: rand.New(rand.NewPCG(1, uint64(i)))}
			users[i].start()
		}
		seen := map[weak.Pointer[Server]]bool{}
		change := func(next plan.Backend) {
			next.Settings = settings
			r.commit(next)
			r.on(func() {
				for _, s := range b.member.servers {
					seen[weak.Make(s)] = true
				}
			})
		}
		for range changes {
			next := backend("a", fleet)
			kept := next.Servers[:0]
			for _, s := range next.Servers {
				if rand.IntN(10) != 0 {
					kept = append(kept, s)
				}
			}
			next.Servers = kept
			change(next)
			time.Sleep(10 * time.Millisecond) // connections come between two changes
		}
		change(backend("a", 4))
		connects := uint64(0)
		for _, u := range users {
			connects += u.stop()
		}
		eventually(t, "nothing is ejected", func() (all bool) {
			all = true
			for _, s := range b.Group().Servers {
				all = all && s.State() == Up
			}
			return all
		})
		r.on(func() {
			if n, m := len(b.Group().Servers), b.Group().Len(); n != 4 || m != 4 {
				t.Errorf("a group of %d servers and %d, want 4", n, m)
			}
		})
		if n := b.began.Load(); n != connects || n == 0 {
			t.Errorf("%d connections were counted, want %d", n, connects)
		}
		t.Logf("%d servers, %d connects, budget refused %d", len(seen), connects, b.retries.refused.Load())
		awaitFreed(t, seen, 4)
	})
}

// awaitFreed waits until no more servers are alive.
func awaitFreed(t *testing.T, seen map[weak.Pointer[Server]]bool, want int) {
	t.Helper()
	alive := 0
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		runtime.GC()
		alive = 0
		for s := range seen {
			if s.Value() != nil {
				alive++
			}
		}
		if alive == want {
			return
		}
	}
	t.Errorf("%d of %d servers are alive, want %d", alive, len(seen), want)
}

// user makes connections on a loop, one a turn.
type user struct {
	sender.Work
	loop    *reactor.Loop
	backend *Backend
	rng     *rand.Rand
	picker  balance.Picker
	n       uint64
	stopped atomic.Bool
	ended   chan struct{}
}

func (u *user) start() {
	u.Runner = u
	u.ended = make(chan struct{})
	u.loop.Enqueue(&u.Work)
}

// stop returns how many connections there were.
func (u *user) stop() uint64 {
	u.stopped.Store(true)
	<-u.ended
	u.picker = balance.Picker{}
	return u.n
}

func (u *user) Abandon(error) { close(u.ended) }

func (u *user) Run() {
	if u.stopped.Load() {
		close(u.ended)
		return
	}
	now := u.loop.Now()
	u.n++
	u.backend.Began(now)
	g := u.backend.Group()
	r := balance.Request{ClientAddr: netip.AddrFrom4([4]byte{1, 2, 3, byte(u.n)})}
	if i, err := u.picker.Pick(g.Group, &r); err == nil {
		s := g.Servers[i]
		if u.rng.IntN(2) == 0 {
			s.Failed(errRefused)
			u.backend.Retry(now)
			s.Retried()
		} else {
			s.Connected(now, now)
		}
		s.Load.Give()
	}
	u.loop.Enqueue(&u.Work)
}
