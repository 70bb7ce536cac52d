package proxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/proxyproto"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"
)

// packetServer is a UDP server that counts what comes.
type packetServer struct {
	*net.UDPConn
	got chan packetOf
}

type packetOf struct {
	data []byte
	from netip.AddrPort
}

// listenUDP is a UDP server. If it echoes, each datagram is sent back behind a prefix.
func listenUDP(t *testing.T, at, prefix string) *packetServer {
	t.Helper()
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(at)))
	if err != nil {
		t.Fatal(err)
	}
	s := &packetServer{c, make(chan packetOf, 10000)}
	t.Cleanup(func() { c.Close() })
	go func() {
		b := make([]byte, 65536)
		for {
			n, from, err := c.ReadFromUDPAddrPort(b)
			if err != nil {
				if errors.Is(err, net.ErrClosed) {
					return
				}
				continue
			}
			s.got <- packetOf{bytes.Clone(b[:n]), from}
			if prefix != "-" {
				_, _ = c.WriteToUDPAddrPort(append([]byte(prefix), b[:n]...), from)
			}
		}
	}()
	return s
}

func (s *packetServer) addr() netip.AddrPort { return s.LocalAddr().(*net.UDPAddr).AddrPort() }

// next is the next datagram that the server gets.
func (s *packetServer) next(t *testing.T) packetOf {
	t.Helper()
	select {
	case p := <-s.got:
		return p
	case <-time.After(10 * time.Second):
		t.Fatal("no datagram comes")
		panic("unreachable")
	}
}

// udpFixture has one listener of UDP, and one backend with the given servers.
func udpFixture(b Backend, u config.UDP, servers ...netip.AddrPort) fixture {
	b.Name = "b"
	for _, s := range servers {
		b.Servers = append(b.Servers, Server{Name: s.String(), Address: s})
	}
	if u.IdleTimeout == 0 {
		u.IdleTimeout = 30 * time.Second
	}
	return fixture{
		Config:    Config{Loops: 2},
		Listeners: []Listener{{Name: "l", Address: netip.MustParseAddrPort("127.0.0.1:0"), Backend: "b", UDP: &u}},
		Backends:  []Backend{b},
	}
}

func dialUDP(t *testing.T, to netip.AddrPort) *net.UDPConn {
	t.Helper()
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ask sends a datagram, and returns the answer.
func ask(t *testing.T, c *net.UDPConn, b []byte) []byte {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	answer := make([]byte, 65536)
	n, err := c.Read(answer)
	if err != nil {
		t.Fatal(err)
	}
	return answer[:n]
}

// awaitOpen waits until so many connections are open.
func awaitOpen(t *testing.T, p *Proxy, n int64) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); p.Open() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d sessions are open, want %d", p.Open(), n)
		}
	}
}

func closedBy(p *Proxy, e closeReason) uint64 {
	return p.table.Load().listeners[0].stats.closed[e].Load()
}

func TestUDPDatagramsOfAllSizes(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "")
		p := udpFixture(Backend{}, config.UDP{}, s.addr()).on(ring).run(t)
		c := dialUDP(t, p.Addrs()[0])
		for i, n := range []int{1, 0, 65507, 100, 1472, 17 << 10, 65507, 0, 1} {
			want := bytes.Repeat([]byte{byte(i)}, n)
			if got := ask(t, c, want); !bytes.Equal(got, want) {
				t.Errorf("a datagram of %d bytes came back as %d", n, len(got))
			}
		}
		from := s.next(t).from
		for range 8 {
			if again := s.next(t).from; again != from {
				t.Errorf("the session has two sockets: %v and %v", from, again)
			}
		}
		waitFor(t, "every datagram is counted", func() bool { // after it is sent
			l := p.Stats().Listeners[0]
			return l.Accepted == 1 && l.ReceivedDatagrams == 9 && l.SentDatagrams == 9 && l.ReceivedBytes == l.SentBytes
		})
	})
}

// Many datagrams in a row, of one size and of others, come in order. (The kernel may make one of several.)
func TestUDPInOrder(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "-")
		p := udpFixture(Backend{}, config.UDP{}, s.addr()).on(ring).run(t)
		c := dialUDP(t, p.Addrs()[0])
		for i := range 50 {
			size := 100
			if i%11 == 5 {
				size = 90
			}
			for k := range 20 {
				b := make([]byte, size+k/19)
				copy(b, fmt.Sprint(i, ".", k))
				_, _ = c.Write(b)
			}
			for k := range 20 {
				got, want := s.next(t).data, fmt.Sprint(i, ".", k)
				if len(got) != size+k/19 || string(got[:len(want)]) != want {
					t.Fatalf("%d bytes, %.20q, want %s", len(got), got, want)
				}
			}
		}
	})
}

// Each datagram is a session of its own, and the servers take turns; the session ends with its answer.
func TestUDPPerDatagram(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		a, b := listenUDP(t, "127.0.0.1:0", "a"), listenUDP(t, "127.0.0.1:0", "b")
		f := udpFixture(Backend{}, config.UDP{Requests: 1, Responses: 1}, a.addr(), b.addr())
		f.Loops = 1
		p := f.on(ring).run(t)
		c := dialUDP(t, p.Addrs()[0])
		const n = 50
		count := map[byte]int{}
		for range n {
			count[ask(t, c, []byte("x"))[0]]++
		}
		if count['a'] != n/2 || count['b'] != n/2 {
			t.Errorf("%v", count)
		}
		awaitOpen(t, p, 0)
		if got := closedBy(p, reasonNormal); got != n {
			t.Errorf("%d sessions have ended normally, want %d", got, n)
		}
	})
}

// A server that is not there answers by ICMP: the session ends, and when the server is there the next one works.
func TestUDPServerGoesAndComesBack(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "")
		p := udpFixture(Backend{}, config.UDP{}, s.addr()).on(ring).run(t)
		c := dialUDP(t, p.Addrs()[0])
		ask(t, c, []byte("there"))
		s.Close()
		for deadline := time.Now().Add(10 * time.Second); closedBy(p, reasonServerReset) == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the session does not end")
			}
			_, _ = c.Write([]byte("gone"))
		}
		for deadline := time.Now().Add(10 * time.Second); closedBy(p, reasonNoServer) == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the next session does not end")
			}
			_, _ = c.Write([]byte("gone"))
		}
		awaitOpen(t, p, 0)
		if n := p.Stats().Servers[0].FailuresByReason; len(n) == 0 {
			t.Error("the server is not blamed")
		}
		listenUDP(t, s.addr().String(), "")
		if got := ask(t, c, []byte("back")); string(got) != "back" {
			t.Errorf("%q", got)
		}
	})
}

// Clients of one port and different addresses have sessions of their own, and replies leave from the address that was
// asked.
func TestUDPAddresses(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "")
		f := udpFixture(Backend{}, config.UDP{}, s.addr())
		f.Listeners[0].Address = netip.MustParseAddrPort("0.0.0.0:0")
		p := f.on(ring).run(t)
		port := 0
		for i := 2; i < 5; i++ {
			from := &net.UDPAddr{IP: net.IPv4(127, 0, 0, byte(i)), Port: port}
			to := &net.UDPAddr{IP: net.IPv4(127, 0, 1, byte(i)), Port: int(p.Addrs()[0].Port())}
			c, err := net.DialUDP("udp", from, to) // it takes answers of that address only
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			port = c.LocalAddr().(*net.UDPAddr).Port
			want := fmt.Sprint("client ", i)
			if got := ask(t, c, []byte(want)); string(got) != want {
				t.Errorf("%q", got)
			}
		}
		if n := p.Open(); n != 3 {
			t.Errorf("%d sessions, want 3", n)
		}
	})
}

func TestUDPv6AndMapped(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "[::1]:0", "")
		f := udpFixture(Backend{}, config.UDP{}, s.addr())
		f.Listeners[0].Address = netip.MustParseAddrPort("[::]:0")
		p := f.on(ring).run(t)
		for _, to := range []string{"::1", "127.0.0.1", "127.0.0.9"} {
			c := dialUDP(t, netip.AddrPortFrom(netip.MustParseAddr(to), p.Addrs()[0].Port()))
			if got := ask(t, c, []byte(to)); string(got) != to {
				t.Errorf("%q", got)
			}
		}
	})
}

// A session that is idle ends, and its table and memory are given back.
func TestUDPIdle(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "")
		p := udpFixture(Backend{}, config.UDP{IdleTimeout: 100 * time.Millisecond}, s.addr()).on(ring).run(t)
		for range 20 {
			ask(t, dialUDP(t, p.Addrs()[0]), []byte("x"))
		}
		awaitOpen(t, p, 0)
		if n := closedBy(p, reasonIdle); n != 20 {
			t.Errorf("%d sessions were idle, want 20", n)
		}
	})
}

// The list of connections has sessions, with what people are shown of their clients.
func TestUDPConnections(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "")
		p := udpFixture(Backend{}, config.UDP{}, s.addr()).on(ring).run(t)
		c := dialUDP(t, p.Addrs()[0])
		ask(t, c, []byte("x"))
		all, own := list(t, p, Filter{}, 0), c.LocalAddr().(*net.UDPAddr).AddrPort()
		if len(all) != 1 || all[0].Client != own || all[0].ClientName != own.String() ||
			all[0].Address != serveraddr.IP(s.addr()) || all[0].Phase != "data" {
			t.Errorf("%+v, want one of %v", all, own)
		}
	})
}

// A session that gets no server has a line of the access log, and is warned of.
func TestUDPAccessLogWithoutServer(t *testing.T) {
	full := func(b *config.Backend) { b.MaxConnections = 1 }
	for why, test := range map[closeReason]struct {
		set     func(*fixture)
		warning string
	}{
		reasonNoneAvailable: {func(f *fixture) { f.Backends[0].Servers = nil }, "no server available"},
		reasonQueueFull:     {func(f *fixture) { f.Backends[0].Set = full }, "no server available"},
		reasonNoRoute: {func(f *fixture) {
			f.Listeners[0].Set = func(l *plan.Listener) {
				l.Backend, l.Routes = "", []config.Route{{Backend: "b", Sources: prefixes("10.0.0.0/8")}}
			}
		}, "connection refused"},
	} {
		t.Run(why.String(), func(t *testing.T) {
			onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
				f := udpFixture(Backend{}, config.UDP{}, listenUDP(t, "127.0.0.1:0", "").addr())
				test.set(&f)
				core, told := observer.New(zapcore.WarnLevel)
				f.Log = zap.New(core)
				f.Loops = 1
				f.Ring = ring
				next := f.plan()
				next.AccessLog = config.AccessLog{Path: filepath.Join(t.TempDir(), "log"), Mode: 0o600}
				p := runPlan(t, f.Config, next)
				if why == reasonQueueFull {
					ask(t, dialUDP(t, p.Addrs()[0]), []byte("x"))
				}
				c := dialUDP(t, p.Addrs()[0])
				_, _ = c.Write([]byte("x"))
				expectFields(t, logged(t, next.AccessLog.Path, 1)[0], map[string]any{
					"network": "udp", "listener": "l", "client": c.LocalAddr(), "server": nil, "attempts": 0,
					"code": closeReasons[why].Code, "why": closeReasons[why].Why, "connect_ms": -1,
				})
				if n := told.FilterMessage(test.warning).Len(); n != 1 {
					t.Errorf("%d warnings, want 1: %v", n, told.All())
				}
			})
		})
	}
}

// What is beyond a limit is dropped and counted.
func TestUDPLimits(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "")
		f := udpFixture(Backend{}, config.UDP{}, s.addr())
		f.Listeners[0].MaxConnections = 2
		p := f.on(ring).run(t)
		for range 2 {
			ask(t, dialUDP(t, p.Addrs()[0]), []byte("x"))
		}
		c := dialUDP(t, p.Addrs()[0])
		_, _ = c.Write([]byte("too many"))
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			l := p.Stats().Listeners[0]
			if reasonCount(l.Rejected, "limit") == 1 && reasonCount(l.DroppedDatagrams, "refused") == 1 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%+v", l)
			}
		}
		if n, err := p.CloseConnections(context.Background(), Filter{}); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		awaitOpen(t, p, 0)
		if got := ask(t, c, []byte("now")); string(got) != "now" {
			t.Errorf("%q", got)
		}
	})
}

// Sessions without a limit leave local ports to the rest of the machine. When there are as many as there may be, those
// that no client has confirmed make room, and the others stay.
func TestUDPSessionsLeavePorts(t *testing.T) {
	const ports = 8
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "")
		f := udpFixture(Backend{}, config.UDP{}, s.addr())
		f.Loops, f.ports = 1, ports
		p := f.on(ring).run(t)
		confirmed := func() *net.UDPConn {
			c := dialUDP(t, p.Addrs()[0])
			ask(t, c, []byte("a"))
			ask(t, c, []byte("b"))
			return c
		}
		innocent := confirmed()
		id := list(t, p, Filter{}, 0)[0].ID
		for range 10 * ports {
			_, _ = dialUDP(t, p.Addrs()[0]).Write([]byte("forged"))
			ask(t, dialUDP(t, p.Addrs()[0]), []byte("a new client is served"))
		}
		waitFor(t, "the sessions leave ports", func() bool { return p.Open() <= ports })
		ask(t, innocent, []byte("c"))
		if n := reasonCount(p.Stats().Listeners[0].DroppedDatagrams, "refused"); n != 0 {
			t.Errorf("%d datagrams were refused", n)
		}
		for range ports - 1 {
			confirmed()
		}
		_, _ = dialUDP(t, p.Addrs()[0]).Write([]byte("too many"))
		waitFor(t, "there is no room among clients that are known", func() bool {
			return reasonCount(p.Stats().Listeners[0].Rejected, "ports") == 1
		})
		if !slices.ContainsFunc(list(t, p, Filter{}, 0), func(c Connection) bool { return c.ID == id }) {
			t.Error("the session of a client that is known has ended")
		}
	})
}

func reasonCount(all stats.Tally[stats.Count], reason string) uint64 {
	for _, c := range all {
		if c.Reason == reason {
			return c.Count
		}
	}
	return 0
}

// A reload keeps a session, with the server's socket and its settings, and lists it.
func TestUDPReload(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s, other := listenUDP(t, "127.0.0.1:0", "a"), listenUDP(t, "127.0.0.1:0", "b")
		f := udpFixture(Backend{}, config.UDP{}, s.addr())
		f.Listeners[0].Address = freePort(t)
		p := f.on(ring).run(t)
		c := dialUDP(t, p.Addrs()[0])
		ask(t, c, []byte("1"))
		from := s.next(t).from
		f.Backends[0].Servers = []Server{{Name: "other", Address: other.addr()}}
		f.Listeners[0].UDP = &config.UDP{IdleTimeout: time.Hour}
		p.change(t, f)
		if got := ask(t, c, []byte("2")); string(got) != "a2" || s.next(t).from != from {
			t.Errorf("%q", got)
		}
		if got := ask(t, dialUDP(t, p.Addrs()[0]), []byte("3")); string(got) != "b3" {
			t.Errorf("%q", got)
		}
		all, err := p.Connections(context.Background(), Filter{Client: netip.PrefixFrom(p.Addrs()[0].Addr(), 32)}, 0)
		if err != nil || len(all) != 2 {
			t.Fatalf("%+v, %v", all, err)
		}
		for _, x := range all {
			if x.Client.String() == c.LocalAddr().String() && (x.FromClient != 2 || x.FromServer != 4 || x.Phase != "data") {
				t.Errorf("%+v", x)
			}
		}
	})
}

// A listener that a reload adds receives, in a process that nothing was handed over to.
func TestUDPListenerIsAdded(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "")
		f := udpFixture(Backend{}, config.UDP{}, s.addr())
		f.Listeners[0].Address = freePort(t)
		p := f.on(ring).run(t)
		p.TakesAll()
		added := f.Listeners[0]
		added.Name, added.Address = "added", freePort(t)
		f.Listeners = append(f.Listeners, added)
		p.change(t, f)
		for _, at := range p.Addrs() {
			if got := ask(t, dialUDP(t, at), []byte("x")); string(got) != "x" {
				t.Errorf("%q from %v", got, at)
			}
		}
	})
}

// The sessions of a listener that is gone end, and its address is free.
func TestUDPListenerIsGone(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "")
		f := udpFixture(Backend{}, config.UDP{}, s.addr())
		f.Listeners[0].Address = freePort(t)
		p := f.on(ring).run(t)
		ask(t, dialUDP(t, p.Addrs()[0]), []byte("x"))
		at := p.Addrs()[0]
		f.Listeners[0].Address = freePort(t)
		p.change(t, f)
		awaitOpen(t, p, 0)
		listenUDP(t, at.String(), "")
	})
}

// While the process drains, a session continues, and no other begins; the drain ends with the session.
func TestUDPDrain(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "")
		p := udpFixture(Backend{}, config.UDP{IdleTimeout: 500 * time.Millisecond}, s.addr()).on(ring).run(t)
		c := dialUDP(t, p.Addrs()[0])
		ask(t, c, []byte("x"))
		done := make(chan error, 1)
		go func() { done <- p.Drain(context.Background(), config.Drain{Timeout: 10 * time.Second}) }()
		waitFor(t, "it drains", func() bool { return p.DrainPhase() == DrainClosing })
		if got := ask(t, c, []byte("still")); string(got) != "still" {
			t.Errorf("%q", got)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Another process takes the sockets over: it gets the datagrams, while this one passes on replies.
func TestUDPHandOver(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s, other := listenUDP(t, "127.0.0.1:0", "-"), listenUDP(t, "127.0.0.1:0", "new ")
		f := udpFixture(Backend{}, config.UDP{IdleTimeout: time.Second}, s.addr())
		f.Listeners[0].Address = freePort(t)
		p := f.on(ring).run(t)
		c := dialUDP(t, p.Addrs()[0])
		_, _ = c.Write([]byte("x"))
		from := s.next(t).from

		sockets, err := p.ListenSockets()
		if err != nil {
			t.Fatal(err)
		}
		next := udpFixture(Backend{}, config.UDP{}, other.addr())
		next.Listeners[0].Address = p.Addrs()[0]
		next.Inherited, next.Loops = sockets, 3
		q := next.on(ring).run(t)
		p.StopAccepting()
		_, _ = s.WriteToUDPAddrPort([]byte("late"), from)
		b := make([]byte, 100)
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if n, err := c.Read(b); err != nil || string(b[:n]) != "late" {
			t.Errorf("%q, %v", b[:n], err)
		}
		awaitOpen(t, p, 0)
		if got := ask(t, c, []byte("y")); string(got) != "new y" {
			t.Errorf("%q", got)
		}
		if q.Open() != 1 {
			t.Errorf("%d sessions in the new process", q.Open())
		}
	})
}

// Each datagram has a PROXY header in front, also one that begins with another that its client has written, an empty
// one, and those that have come together.
func TestUDPProxyHeader(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "-")
		f := udpFixture(Backend{Set: func(b *config.Backend) { b.ProxyProtocol.Version = "v2" }}, config.UDP{}, s.addr())
		p := f.on(ring).run(t)
		c := dialUDP(t, p.Addrs()[0])
		forged := proxyproto.Append(nil, &proxyproto.Header{
			Version: 2, Datagram: true, Source: netip.MustParseAddrPort("10.1.2.3:53"), Destination: s.addr(),
		})
		expect := func(text string) {
			t.Helper()
			got := s.next(t).data
			h, n, err := proxyproto.Parse(got)
			if err != nil || h.Source.String() != c.LocalAddr().String() || h.Destination != p.Addrs()[0] || !h.Datagram {
				t.Errorf("%+v, %v", h, err)
			}
			if string(got[n:]) != text {
				t.Errorf("%q, want %q", got[n:], text)
			}
		}
		for _, text := range []string{"first", "second", string(forged) + "third", "", "fifth"} {
			_, _ = c.Write([]byte(text))
			expect(text)
		}
		sendTogether(t, c, 7, "seven 1seven 2seven")
		for _, text := range []string{"seven 1", "seven 2", "seven"} {
			expect(text)
		}
	})
}

// Datagrams that are too long with their header are dropped, and do not take the room of replies.
func TestUDPTooLong(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "-")
		f := udpFixture(Backend{Set: func(b *config.Backend) { b.ProxyProtocol.Version = "v2" }}, config.UDP{}, s.addr())
		p := f.on(ring).run(t)
		c := dialUDP(t, p.Addrs()[0])
		_, _ = c.Write([]byte("begin"))
		from := s.next(t).from
		long := make([]byte, 65500)
		waitFor(t, "many datagrams were too long", func() bool {
			_, _ = c.Write(long)
			return reasonCount(p.Stats().Listeners[0].DroppedDatagrams, "error") >= 500
		})
		const replies = 20
		for range replies {
			_, _ = s.WriteToUDPAddrPort([]byte("reply"), from)
		}
		_ = c.SetReadDeadline(time.Now().Add(patience))
		for i := range replies {
			if _, err := c.Read(long); err != nil {
				t.Fatalf("%d replies have arrived, want %d: %v", i, replies, err)
			}
		}
	})
}

// sendTogether sends datagrams of a size in one call; the last one may be shorter.
func sendTogether(t *testing.T, c *net.UDPConn, size uint16, text string) {
	t.Helper()
	var segment [2]byte
	binary.NativeEndian.PutUint16(segment[:], size)
	control := reactor.AppendControl(nil, reactor.ControlMessage{
		Level: unix.IPPROTO_UDP, Type: unix.UDP_SEGMENT, Data: segment[:],
	})
	if _, _, err := c.WriteMsgUDP([]byte(text), control, nil); err != nil {
		t.Fatal(err)
	}
}

// Two processes cannot have the same address.
func TestUDPAddressInUse(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := listenUDP(t, "127.0.0.1:0", "")
		f := udpFixture(Backend{}, config.UDP{}, s.addr())
		f.Listeners[0].Address = s.addr()
		f.Ring = ring
		if _, err := f.start(); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%v", err)
		}
	})
}

// Ten thousand sessions become idle: nothing is left of them, not even their memory.
func TestUDPManySessions(t *testing.T) {
	if testing.Short() {
		t.Skip("many sessions")
	}
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		const n = 10_000
		s := listenUDP(t, "127.0.0.1:0", "-")
		f := udpFixture(Backend{}, config.UDP{IdleTimeout: time.Second}, s.addr())
		f.pairs = n
		p := f.on(ring).run(t)
		before := heap()
		for range n {
			c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(p.Addrs()[0]))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = c.Write([]byte("x"))
			_ = c.Close()
		}
		for range n / 2 { // some ports are used twice, and some datagrams may be lost
			s.next(t)
		}
		awaitOpen(t, p, 0)
		l := p.Stats().Listeners[0]
		if got := closedBy(p, reasonIdle); got != l.Accepted || got < n/2 {
			t.Errorf("%d sessions were idle, of %d", got, l.Accepted)
		}
		if after := heap(); after > before+8<<20 {
			t.Errorf("%d bytes more than before %d", after-before, before)
		}
	})
}

// heap is how many bytes of the heap are in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A datagram to a broadcast address is served once, and its answer leaves from an address of this machine.
func TestUDPBroadcast(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		server := listenUDP(t, "127.0.0.1:0", "to ")
		f := udpFixture(Backend{}, config.UDP{}, server.addr()).on(ring)
		f.Loops, f.Listeners[0].Address = 3, netip.MustParseAddrPort("0.0.0.0:0")
		p := f.run(t)
		c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}) // package net sets SO_BROADCAST
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		to := netip.AddrPortFrom(netip.MustParseAddr("127.255.255.255"), p.Addrs()[0].Port())
		for _, text := range []string{"one", "two"} {
			if _, err := c.WriteToUDPAddrPort([]byte(text), to); err != nil {
				t.Skipf("no broadcast on the loopback interface: %v", err)
			}
			_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
			b := make([]byte, 100)
			n, from, err := c.ReadFromUDPAddrPort(b)
			if err != nil || string(b[:n]) != "to "+text || from.Addr() != netip.MustParseAddr("127.0.0.1") {
				t.Errorf("the answer is %q from %v, %v", b[:n], from, err)
			}
			if got := server.next(t); string(got.data) != text {
				t.Errorf("the server has got %q, want %q once", got.data, text)
			}
		}
	})
}
