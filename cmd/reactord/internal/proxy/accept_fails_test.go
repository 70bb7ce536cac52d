package proxy

import (
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
)

// ailing is a ring on which entries that listeners wait with fail for want of memory, while it is sick.
type ailing struct {
	host.Ring
	sick   atomic.Bool
	failed []uring.CQE
}

func (r *ailing) Push(e *uring.SQE) {
	if r.sick.Load() && (e.Opcode == uring.OpPollAdd || e.Opcode == uring.OpRecvmsg) {
		r.failed = append(r.failed, uring.CQE{UserData: e.UserData, Res: -int32(unix.ENOMEM)})
		return
	}
	r.Ring.Push(e)
}

func (r *ailing) Enter(timeout time.Duration) error {
	if len(r.failed) != 0 {
		timeout = 0
	}
	return r.Ring.Enter(timeout)
}

func (r *ailing) Pop(c *uring.CQE) bool {
	if len(r.failed) == 0 {
		return r.Ring.Pop(c)
	}
	*c, r.failed = r.failed[0], r.failed[1:]
	return true
}

// startAiling runs a proxy of one loop on a ring that is sick.
func startAiling(t *testing.T, ring *ailing, f fixture) *Proxy {
	t.Helper()
	ring.sick.Store(true)
	l, err := reactor.NewLoopOn(ring, nil, reactor.LoopConfig{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.prepare([]*reactor.Loop{l})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = l.Run(p.workers[0].start)
		close(p.ended)
	}()
	closeAtEnd(t, p)
	return p
}

// A listener that fails is tried again. Its loop, which is the control loop, continues, and follows plans meanwhile.
func TestListenerFailsAndRecovers(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		ring := &ailing{Ring: newRing(t, kind)}
		first, second := listen(t), listen(t)
		f := setupOf(Backend{}, first)
		f.Listeners = append(f.Listeners, Listener{Name: "udp", Address: netip.MustParseAddrPort("127.0.0.1:0"),
			Backend: "packets", UDP: &config.UDP{IdleTimeout: time.Minute}})
		packets := listenUDP(t, "127.0.0.1:0", "from ")
		f.Backends = append(f.Backends, Backend{Name: "packets", Servers: []Server{{Name: "s", Address: packets.addr()}}})
		p := startAiling(t, ring, f)
		waitFor(t, "both listeners fail", func() bool { return slices.Equal(p.FailingListeners(), []string{"l", "udp"}) })

		next := f
		next.Backends = append(slices.Clone(setupOf(Backend{}, second).Backends), f.Backends[1])
		p.change(t, next)
		c := dialAs(t, p, 3)
		ring.sick.Store(false)
		expectName(t, second, 3)
		waitFor(t, "no listener fails", func() bool { return len(p.FailingListeners()) == 0 })
		if got := ask(t, dialUDP(t, p.Addrs()[1]), []byte("me")); string(got) != "from me" {
			t.Errorf("the answer is %q", got)
		}
		_ = c.Close()
	})
}

// A listener that fails does not keep its worker, a drain or a plan without it from ending.
func TestFailingListenerIsRemoved(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		f := setupOf(Backend{}, listen(t))
		packets := listenUDP(t, "127.0.0.1:0", "")
		f.Backends = append(f.Backends, Backend{Name: "packets", Servers: []Server{{Name: "s", Address: packets.addr()}}})
		f.Listeners = append(f.Listeners, Listener{Name: "udp", Address: netip.MustParseAddrPort("127.0.0.1:0"),
			Backend: "packets", UDP: &config.UDP{IdleTimeout: time.Minute}})
		p := startAiling(t, &ailing{Ring: newRing(t, kind)}, f)
		waitFor(t, "both listeners fail", func() bool { return len(p.FailingListeners()) == 2 })
		listeners := p.table.Load().listeners
		f.Listeners = nil
		p.change(t, f)
		for _, s := range listeners {
			if n := s.stats.failing.Load(); n != 0 {
				t.Errorf("%s: %d sockets fail that are closed", s.settings.Load().Name, n)
			}
		}
		p.each((*worker).drain)
		<-p.ended
	})
}

// A client that comes while its listener fails is served when that recovers.
func TestSimulationOfAListenerThatFails(t *testing.T) {
	for seed := range testenv.Seeds(20) {
		err := simring.Play(func(k *simring.Kernel) func() {
			k.Odds = calm(1 << 10)
			r := &restart{servers: 1, clients: 1, simulation: &simulation{k: k, talk: program.NewTalk(k)}}
			ring := &ailing{Ring: k.NewRing()}
			l, err := reactor.NewLoopOn(ring, k.System(), reactor.LoopConfig{DrainTimeout: time.Hour})
			if err != nil {
				panic(err)
			}
			address := netip.MustParseAddrPort("127.0.0.1:9000")
			b := Backend{Name: "b", IdleTimeout: time.Hour, HalfCloseTimeout: time.Hour,
				Servers: []Server{{Name: "0", Address: address}}}
			left := 1
			k.Go("server", func(t *simring.Thread) {
				ln := t.Listen(address)
				for {
					fd := t.Accept(ln, func() bool { return left == 0 })
					if fd < 0 {
						break
					}
					_ = k.System().Close(fd)
				}
				_ = k.System().Close(ln)
			})
			ring.sick.Store(true)
			k.Go("start", func(*simring.Thread) { r.start(roomy(), b, []*reactor.Loop{l}) })
			k.Go("cure", func(t *simring.Thread) {
				t.Until(r.isUp)
				t.Until(func() bool { return len(r.proxy.FailingListeners()) == 1 })
				t.Sleep(time.Second)
				ring.sick.Store(false)
			})
			k.Go("client", func(t *simring.Thread) {
				t.Until(r.isUp)
				r.client(t)
				t.Sleep(time.Second)
				if names := r.proxy.FailingListeners(); len(names) != 0 {
					k.Errorf("%v still fail", names)
				}
				left--
				r.proxy.each((*worker).drain)
			})
			return func() {
				r.check()
				if r.served != 1 {
					k.Errorf("the client was not served")
				}
			}
		}, seed, simring.Flawless, nil)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
