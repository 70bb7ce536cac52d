package proxy

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
)

// replace hands the sockets and the connections of a proxy over to a new one.
func replace(t *testing.T, old *Proxy, f fixture) *Proxy {
	t.Helper()
	sockets, err := old.ListenSockets()
	if err != nil {
		t.Fatal(err)
	}
	f.Inherited, f.AwaitSessions = sockets, true
	next := f.run(t)
	old.StopAccepting()
	handOver(t, old, next)
	next.TakesAll()
	return next
}

// mirror is a UDP server that answers with the address that the datagram came from.
func mirror(t *testing.T, at string) *net.UDPConn {
	t.Helper()
	s, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(at)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	go func() {
		b := make([]byte, 100)
		for {
			_, from, err := s.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			_, _ = s.WriteToUDPAddrPort([]byte(from.String()), from)
		}
	}()
	return s
}

// askOn asks again and again until stop is closed, with a pause in between, and expects the same answer each time.
func askOn(c *net.UDPConn, want string, pause time.Duration, stop <-chan struct{}) error {
	b := make([]byte, 100)
	for n := 1; ; n++ {
		select {
		case <-stop:
			return nil
		case <-time.After(pause):
		}
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_ = c.SetReadDeadline(time.Now().Add(patience))
		size, err := c.Read(b)
		if err != nil {
			return fmt.Errorf("question %d: %w", n, err)
		}
		if got := string(b[:size]); got != want {
			return fmt.Errorf("the answer to question %d is %s, want %s", n, got, want)
		}
	}
}

// The server knows each client by one address while its session moves from process to process, between rings and
// numbers of loops, also if the listener has several addresses. No datagram is lost, and what is counted stays so.
func TestSessionHandover(t *testing.T) {
	const clients, moves = 20, 6
	for _, at := range []string{"127.0.0.1", "0.0.0.0", "::"} {
		t.Run(at, func(t *testing.T) {
			onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
				server := mirror(t, "127.0.0.1:0").LocalAddr().(*net.UDPAddr).AddrPort()
				f := udpFixture(Backend{}, config.UDP{}, server)
				f.Listeners[0].Address = netip.AddrPortFrom(netip.MustParseAddr(at), freePort(t).Port())
				f.Loops, f.Ring = 2, ring
				p := f.run(t)
				to := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), p.Addrs()[0].Port())
				stop := make(chan struct{})
				var all sync.WaitGroup
				for i := range clients {
					c := dialUDP(t, to)
					first := string(ask(t, c, []byte("x")))
					all.Go(func() {
						if err := askOn(c, first, time.Duration(i)*100*time.Microsecond, stop); err != nil {
							t.Errorf("client %d: %v", i, err)
						}
					})
				}
				defer all.Wait()
				end := sync.OnceFunc(func() { close(stop) })
				defer end()
				rings := []reactor.RingKind{reactor.Epoll, ring}
				for i := range moves {
					f.Ring, f.Loops = rings[i%2], 1+i%3
					old, next := p, replace(t, p, f)
					waitFor(t, "all sessions have moved", func() bool {
						n, _ := next.Taken()
						return n == clients && old.Open() == 0
					})
					if n := next.Open(); n != clients {
						t.Errorf("%d sessions are open, want %d", n, clients)
					}
					if err := old.Close(); err != nil {
						t.Error(err)
					}
					p = next
					before := p.moved()
					waitFor(t, "the clients go on", func() bool { return p.moved() > before+100*clients })
				}
				end()
				all.Wait()
				for _, x := range list(t, p, Filter{}, 0) {
					if x.FromClient < moves || x.Age <= 0 || x.Phase != "data" {
						t.Errorf("%+v", x)
					}
				}
				if n := p.Stats().Listeners[0].Accepted; n != 0 {
					t.Errorf("%d sessions have begun in the last process", n)
				}
			})
		})
	}
}

// A session whose listener is gone stays in the old process, and one whose server is gone moves with it.
func TestSessionHandoverOfChangedPlan(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s, other := listenUDP(t, "127.0.0.1:0", "a"), listenUDP(t, "127.0.0.1:0", "b")
		f := udpFixture(Backend{}, config.UDP{IdleTimeout: time.Hour}, s.addr())
		f.Listeners[0].Address = freePort(t)
		f.Listeners = append(f.Listeners, f.Listeners[0])
		f.Listeners[1].Name, f.Listeners[1].Address = "gone", freePort(t)
		f.Ring = ring
		p := f.run(t)
		addrs := p.Addrs()
		moves, stays := dialUDP(t, addrs[0]), dialUDP(t, addrs[1])
		ask(t, moves, []byte("1"))
		from := s.next(t).from
		ask(t, stays, []byte("1"))
		s.next(t)
		g := udpFixture(Backend{}, config.UDP{IdleTimeout: time.Hour}, other.addr())
		g.Ring = ring
		g.Listeners[0].Address = addrs[0]
		next := replace(t, p, g)
		waitFor(t, "a session has moved, and another one has not", func() bool {
			h := p.Handovers()
			return h.Moved == 1 && len(h.Staying) == 1 && h.Staying[0].Reason == "refused"
		})
		if got := string(ask(t, moves, []byte("2"))); got != "a2" || s.next(t).from != from {
			t.Errorf("%q", got)
		}
		if got := string(ask(t, dialUDP(t, addrs[0]), []byte("3"))); got != "b3" {
			t.Errorf("%q", got)
		}
		if n, m := p.Open(), next.Open(); n != 1 || m != 2 {
			t.Errorf("%d and %d sessions, want 1 and 2", n, m)
		}
		_ = p.Close()
	})
}

// A session keeps its PROXY header, what it may still ask, and its age.
func TestSessionHandoverKeepsSettings(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "")
		b := Backend{Set: func(b *config.Backend) { b.ProxyProtocol.Version = "v2" }}
		f := udpFixture(b, config.UDP{Requests: 3}, s.addr())
		f.Ring, f.Listeners[0].Address = ring, freePort(t)
		f.Listeners[0].Set = func(l *plan.Listener) { l.UDP.Responses = 1 }
		p := f.run(t)
		c := dialUDP(t, p.Addrs()[0])
		ask(t, c, []byte("1"))
		before := s.next(t)
		id := list(t, p, Filter{}, 0)[0].ID
		g := udpFixture(Backend{}, config.UDP{}, s.addr())
		g.Ring = ring
		g.Listeners[0].Address = p.Addrs()[0]
		next := replace(t, p, g)
		for _, text := range []string{"2", "3"} {
			if len(list(t, next, Filter{}, 0)) == 1 && list(t, next, Filter{}, 0)[0].ID != id {
				t.Errorf("the session has another id")
			}
			ask(t, c, []byte(text))
			after := s.next(t)
			if after.from != before.from || string(after.data[:len(after.data)-1]) != string(before.data[:len(before.data)-1]) {
				t.Errorf("%q from %v, want the header of %q from %v", after.data, after.from, before.data, before.from)
			}
		}
		waitFor(t, "the session has ended with its third answer", func() bool { return next.Open() == 0 })
		_ = p.Close()
	})
}
