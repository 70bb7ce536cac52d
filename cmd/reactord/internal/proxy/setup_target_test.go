package proxy

import (
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/reactor"
)

func weights(all ...int) (out []config.WeightedBackend) {
	for i, w := range all {
		out = append(out, config.WeightedBackend{Backend: []string{"b", "other", "third"}[i], Weight: w})
	}
	return out
}

// Backends are drawn by weight, and without an allocation.
func TestTargets(t *testing.T) {
	backends := map[string]*upstream.Backend{"b": {Name: "b"}, "other": {Name: "other"}, "third": {Name: "third"}}
	const draws = 100_000
	const most = 1_000_000
	for _, test := range [][]int{
		{1}, {1, 1}, {80, 20}, {1, 0, 1}, {1, most - 1}, {most, most, most}, {0, 0}, {0, 7},
	} {
		to, err := newTargets(&config.Route{Backends: weights(test...)}, backends)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, w := range test {
			sum += w
		}
		random := rand.NewPCG(1, 2)
		counts := map[*upstream.Backend]int{}
		for range draws {
			counts[to.draw(random)]++
		}
		if sum == 0 {
			if counts[nil] != draws {
				t.Errorf("%v: %v", test, counts)
			}
			continue
		}
		for i, w := range weights(test...) {
			part := float64(test[i]) / float64(sum)
			want, sigma := draws*part, math.Sqrt(draws*part*(1-part))
			if n := float64(counts[backends[w.Backend]]); math.Abs(n-want) > 5*sigma {
				t.Errorf("%v: %s has %v of %d, want %.0f ± %.0f", test, w.Backend, n, draws, want, 5*sigma)
			}
		}
		if n := testing.AllocsPerRun(100, func() { to.draw(random) }); n != 0 {
			t.Errorf("%v: %v allocations", test, n)
		}
	}
	nowhere := []config.WeightedBackend{{Backend: "nowhere"}}
	if _, err := newTargets(&config.Route{Backends: nowhere}, backends); err == nil {
		t.Error("a route leads to no backend")
	}
}

// routed runs a proxy with a route for each connection, and two backends.
func routed(t *testing.T, ring reactor.RingKind, r config.Route) (p *Proxy, b, other net.Listener) {
	t.Helper()
	b, other = listen(t), listen(t)
	f := setupOf(Backend{}, b).on(ring)
	f.addOther(other)
	f.Loops, f.Listeners[0].Backend, f.seed = 1, "", 1
	f.Listeners[0].Set = func(l *plan.Listener) { l.Routes = []config.Route{r} }
	return f.run(t), b, other
}

// Each connection of a route goes to a backend by weight; without a weight it is reset.
func TestRouteToSeveralBackends(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		p, b, other := routed(t, ring, config.Route{Backends: weights(1, 1)})
		counts := make(chan net.Listener, 100)
		for _, ln := range []net.Listener{b, other} {
			go func() {
				for {
					c, err := ln.Accept()
					if err != nil {
						return
					}
					c.Close()
					counts <- ln
				}
			}()
		}
		n := map[net.Listener]int{}
		for range cap(counts) {
			dialProxy(t, p)
			n[<-counts]++
		}
		if n[b] < 20 || n[other] < 20 { // 6 σ
			t.Errorf("%d and %d connections", n[b], n[other])
		}
		p, _, _ = routed(t, ring, config.Route{Backends: weights(0, 0)})
		expectRefusal(t, p)
		expectEnd(t, p, reasonNoRoute)
	})
}

// The conditions of a route by ports, and who may take it.
func TestRouteByPortAndItsClients(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		p, b, _ := routed(t, ring, config.Route{Allow: prefixes("127.0.0.0/8"), Deny: prefixes("127.0.0.2/32"), Backend: "b"})
		c := dialProxy(t, p)
		acceptFrom(t, b)
		c.Close()
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
		if denied, err := from.Dial("tcp", p.Addrs()[0].String()); err == nil { // else it is reset already
			defer denied.Close()
			expectReset(t, denied.(*net.TCPConn))
		}
		waitFor(t, "the client is denied", func() bool { return endedBy(p, reasonDenied) == 1 })

		p, _, _ = routed(t, ring, config.Route{Allow: prefixes("192.0.2.0/24"), Backend: "b"})
		expectRefusal(t, p)
		p, _, _ = routed(t, ring, config.Route{DestinationPorts: []int{1}, Backend: "b"})
		expectRefusal(t, p)
		expectEnd(t, p, reasonNoRoute)
	})
	r := route{ports: []int{80, 443}}
	for port, want := range map[uint16]bool{80: true, 443: true, 8080: false} {
		a := &routeRequest{destination: netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), port)}
		if (r.unmet(a) == noCondition) != want {
			t.Errorf("port %d: %t", port, !want)
		}
	}
}

// The timeouts of a route hold for its connections, and not for others of the backend.
func TestRouteTimeouts(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for why, r := range map[closeReason]config.Route{
			reasonIdle:     {IdleTimeout: 50 * time.Millisecond, Backend: "b", Sources: prefixes("127.0.0.2/32")},
			reasonLifetime: {Lifetime: 50 * time.Millisecond, Backend: "b", Sources: prefixes("127.0.0.2/32")},
		} {
			ln := listen(t)
			p := startAs(t, ring, func(l *plan.Listener) { l.Routes = []config.Route{r} }, nil, ln)
			stays := dialProxy(t, p)
			s := acceptFrom(t, ln)
			from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
			c, err := from.Dial("tcp", p.Addrs()[0].String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			acceptFrom(t, ln)
			expectEnd(t, p, why)
			write(t, stays, "still here")
			expect(t, s, "still here")
		}
	})
}

// Sessions of UDP take routes, too.
func TestUDPRoutes(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		b, other := listenUDP(t, "127.0.0.1:0", "b"), listenUDP(t, "127.0.0.1:0", "o")
		with := func(r config.Route) *Proxy {
			f := udpFixture(Backend{}, config.UDP{}, b.addr()).on(ring)
			second := udpFixture(Backend{}, config.UDP{}, other.addr()).Backends[0]
			second.Name = "other"
			f.Backends = append(f.Backends, second)
			f.seed, f.Loops = 1, 1
			f.Listeners[0].Backend = ""
			f.Listeners[0].Set = func(l *plan.Listener) { l.Routes = []config.Route{r} }
			return f.run(t)
		}
		p := with(config.Route{Backends: weights(1, 1)})
		n := map[byte]int{}
		for range 100 {
			n[ask(t, dialUDP(t, p.Addrs()[0]), []byte("x"))[0]]++
		}
		if n['b'] < 20 || n['o'] < 20 {
			t.Errorf("answers by %v", n)
		}
		for why, r := range map[closeReason]config.Route{
			reasonNoRoute: {Backends: weights(0, 0)}, reasonDenied: {Backend: "b", Deny: prefixes("127.0.0.0/8")},
			reasonLifetime: {Backend: "b", Lifetime: 50 * time.Millisecond},
		} {
			p := with(r)
			c := dialUDP(t, p.Addrs()[0])
			waitFor(t, why.String(), func() bool {
				_, _ = c.Write([]byte("x")) // a lifetime is looked at with each datagram
				return closedBy(p, why) != 0
			})
		}
	})
}
