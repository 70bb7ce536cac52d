package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
	"golang.org/x/sys/unix"
)

// echo has the server of the setup return what it gets, until the test ends.
func (s *tlsSetup) echo() {
	go func() {
		for {
			c, err := s.ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(20 * time.Second))
				var d duplex = c.(*net.TCPConn)
				if s.back {
					d = tls.Server(c, s.server)
				}
				_, _ = io.Copy(d, d)
				_ = d.CloseWrite()
			}()
		}
	}()
}

// echoes sends a few bytes, and expects them back.
func echoes(c duplex) error {
	if _, err := c.Write([]byte("ping")); err != nil {
		return err
	}
	b := make([]byte, 4)
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	if string(b) != "ping" {
		return errors.New("got " + string(b))
	}
	return nil
}

// visit connects with a configuration, asks, and ends.
func (s *tlsSetup) visit(cfg *tls.Config) (tls.ConnectionState, error) {
	s.t.Helper()
	c := tls.Client(s.dialRaw(), cfg)
	defer c.Close()
	if err := c.Handshake(); err != nil {
		return tls.ConnectionState{}, err
	}
	return c.ConnectionState(), echoes(c)
}

func handshakesOf(p *Proxy, version, result string) uint64 {
	for _, h := range p.Stats().Listeners[0].Handshakes {
		if h.Version == version && h.Result == result {
			return h.Count
		}
	}
	return 0
}

// Versions are as configured, protocols are negotiated, and sessions are resumed, by all loops.
func TestTLSVersions(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		s := startTLS(t, kind, tlsMode{front: true}, tlsOptions{
			listener: func(l *config.ServerTLS, _ *certstest.Authority) { l.ALPN = []string{"h2", "x"} },
		})
		s.echo()
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			cfg := s.client.Clone()
			cfg.MinVersion, cfg.MaxVersion, cfg.NextProtos = version, version, []string{"y", "x"}
			cfg.ClientSessionCache = tls.NewLRUClientSessionCache(1)
			for i := range 5 {
				state, err := s.visit(cfg)
				if err != nil || state.Version != version || state.NegotiatedProtocol != "x" || state.DidResume != (i > 0) {
					t.Fatalf("%d. connection: %x, %q, resumed %t, %v", i, state.Version, state.NegotiatedProtocol,
						state.DidResume, err)
				}
			}
		}
		old := s.client.Clone()
		old.MinVersion, old.MaxVersion = tls.VersionTLS11, tls.VersionTLS11
		if _, err := s.visit(old); err == nil {
			t.Error("TLS 1.1 is accepted")
		}
		awaitEnd(t, s.p, reasonClientTLS)
		if full, again, failed := handshakesOf(s.p, "1.2", "full"), handshakesOf(s.p, "1.3", "resumed"),
			handshakesOf(s.p, "none", "failed"); full != 1 || again != 4 || failed != 1 {
			t.Errorf("counted %d full, %d resumed, %d failed", full, again, failed)
		}
	})
}

// Clients need a certificate of the authority, or may have one.
func TestTLSClientCertificates(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, auth := range []config.ClientAuth{"request", "require"} {
			s := startTLS(t, kind, tlsMode{front: true}, tlsOptions{
				listener: func(l *config.ServerTLS, ca *certstest.Authority) { l.ClientAuth, l.ClientCA = auth, ca.File },
			})
			s.echo()
			good := s.client.Clone()
			good.Certificates = []tls.Certificate{s.ca.Pair(s.ca.Issue("client", certstest.Key(t), time.Hour, "c.test"))}
			other := certstest.New(t)
			wrong := s.client.Clone()
			wrong.Certificates = []tls.Certificate{other.Pair(other.Issue("client", certstest.Key(t), time.Hour, "c.test"))}
			old := s.client.Clone()
			old.Certificates = []tls.Certificate{s.ca.Pair(s.ca.Issue("old", certstest.Key(t), -time.Hour, "c.test"))}
			for name, test := range map[string]struct {
				cfg *tls.Config
				ok  bool
			}{
				"good": {good, true}, "none": {s.client, auth == "request"}, "wrong": {wrong, false}, "expired": {old, false},
			} {
				// crypto/tls sends a certificate only if it fits the authorities that it is told.
				cfg := test.cfg.Clone()
				if len(cfg.Certificates) != 0 {
					pair := cfg.Certificates[0]
					cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
				}
				if _, err := s.visit(cfg); (err == nil) != test.ok {
					t.Errorf("%s, %s: %v", auth, name, err)
				}
			}
			awaitEnd(t, s.p, reasonClientTLS)
		}
	})
}

// A client that sends nothing, or stops in the middle, is timed out; one that vanishes leaves nothing.
func TestTLSClientVanishes(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		s := startTLS(t, kind, tlsMode{front: true}, tlsOptions{
			listener: func(l *config.ServerTLS, _ *certstest.Authority) { l.HandshakeTimeout = 200 * time.Millisecond },
		})
		s.echo()
		var all sync.WaitGroup
		for most := 0; most < 700; most += 37 {
			for _, end := range []func(*net.TCPConn){
				func(c *net.TCPConn) { resetConn(c) },
				func(c *net.TCPConn) { _ = c.CloseWrite() },
				func(*net.TCPConn) {},
			} {
				all.Go(func() {
					c := s.dialRaw()
					defer c.Close()
					_ = tls.Client(&stingy{TCPConn: c, left: most, end: end}, s.client).Handshake()
					if _, err := io.Copy(io.Discard, c); errors.Is(err, net.ErrClosed) {
						return
					}
				})
			}
		}
		all.Wait()
		awaitEnd(t, s.p, reasonClientTLSTimeout)
		awaitEnd(t, s.p, reasonClientTLS)
		for deadline := time.Now().Add(10 * time.Second); s.p.Open() != 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d connections are left", s.p.Open())
			}
		}
		if _, err := s.visit(s.client); err != nil {
			t.Error(err)
		}
	})
}

// stingy is a connection that sends so many bytes, and ends in some way.
type stingy struct {
	*net.TCPConn
	left int
	end  func(*net.TCPConn)
}

var errStingy = errors.New("that was enough")

func (s *stingy) Write(p []byte) (int, error) {
	if len(p) <= s.left {
		s.left -= len(p)
		return s.TCPConn.Write(p)
	}
	_, _ = s.TCPConn.Write(p[:s.left])
	s.left = 0
	s.end(s.TCPConn)
	return 0, errStingy
}

// A server that stops or vanishes at any byte of its handshake ends the client's connection, and leaves nothing.
func TestTLSServerVanishes(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		s := startTLS(t, kind, tlsMode{back: true}, tlsOptions{
			servers: func(c *config.ClientTLS, _ *certstest.Authority) { c.HandshakeTimeout = 200 * time.Millisecond },
			backend: Backend{Set: func(b *config.Backend) { b.Retries = 0 }},
		})
		var ways []func(net.Conn)
		for most := 0; most < 700; most += 37 {
			for _, end := range []func(*net.TCPConn){
				func(c *net.TCPConn) { resetConn(c) },
				func(c *net.TCPConn) { _ = c.CloseWrite() },
				func(*net.TCPConn) {},
			} {
				ways = append(ways, func(c net.Conn) {
					_ = tls.Server(&stingy{TCPConn: c.(*net.TCPConn), left: most, end: end}, s.server).Handshake()
					_, _ = io.Copy(io.Discard, c) // until the proxy has given up
				})
			}
		}
		var servers sync.WaitGroup
		servers.Go(func() {
			for _, vanish := range ways {
				c, err := s.ln.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				servers.Go(func() {
					defer c.Close()
					vanish(c)
				})
			}
		})
		var clients sync.WaitGroup
		for range ways {
			clients.Go(func() {
				c, err := net.Dial("tcp", s.p.Addrs()[0].String()) // fails if the reset comes first
				if err == nil {
					defer c.Close()
					_ = c.SetDeadline(time.Now().Add(20 * time.Second))
					_, err = io.ReadAll(c)
				}
				if errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error("the client's connection does not end")
				}
			})
		}
		clients.Wait()
		servers.Wait()
		awaitEnd(t, s.p, reasonServerTLSTimeout)
		awaitEnd(t, s.p, reasonServerTLS)
		for deadline := time.Now().Add(10 * time.Second); s.p.Open() != 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d connections are left", s.p.Open())
			}
		}
		s.echo()
		if err := echoes(s.dialRaw()); err != nil {
			t.Error(err)
		}
	})
}

// A server whose certificate has another name, or whose handshake fails or does not end, is one that cannot be reached:
// the next one is tried.
func TestTLSFailover(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for name, bad := range map[string]func(net.Conn, *tlsSetup){
			"wrong name": func(c net.Conn, s *tlsSetup) {
				pair := s.ca.Pair(s.ca.Issue("other", certstest.Key(t), time.Hour, "other.test"))
				_ = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{pair}}).Handshake()
			},
			"wrong authority": func(c net.Conn, _ *tlsSetup) {
				ca := certstest.New(t)
				pair := ca.Pair(ca.Issue("other", certstest.Key(t), time.Hour, "127.0.0.1"))
				_ = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{pair}}).Handshake()
			},
			"no TLS": func(c net.Conn, _ *tlsSetup) { _, _ = c.Write([]byte("220 hello\r\n")) },
			"silent": func(c net.Conn, _ *tlsSetup) { _, _ = io.Copy(io.Discard, c) },
			"gone":   func(c net.Conn, _ *tlsSetup) { resetConn(c) },
		} {
			t.Run(name, func(t *testing.T) {
				first := listen(t)
				s := startTLS(t, kind, tlsMode{back: true}, tlsOptions{
					backend: Backend{Set: func(b *config.Backend) { b.RetryBudget.Percent = 100 }},
					more:    []net.Listener{first}, loops: 1,
					servers: func(c *config.ClientTLS, _ *certstest.Authority) { c.HandshakeTimeout = 300 * time.Millisecond },
				})
				go func() {
					for {
						c, err := first.Accept()
						if err != nil {
							return
						}
						go func() {
							defer c.Close()
							bad(c, s)
						}()
					}
				}()
				s.echo()
				for range 2 { // round-robin: one of them begins with the bad server
					if err := echoes(s.dialRaw()); err != nil {
						t.Error(err)
					}
				}
				if n := len(s.p.Stats().Backends[0].Handshakes); n < 2 {
					t.Errorf("%d kinds of handshakes are counted", n)
				}
			})
		}
	})
}

// If no server can be reached, the connection ends with the reason.
func TestTLSNoServer(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		s := startTLS(t, kind, tlsMode{back: true}, tlsOptions{
			servers: func(c *config.ClientTLS, _ *certstest.Authority) { c.ServerName = "other.test" },
		})
		s.echo()
		c, err := net.Dial("tcp", s.p.Addrs()[0].String()) // fails if the reset comes first
		if err == nil {
			defer c.Close()
			err = echoes(c.(*net.TCPConn))
		}
		if err == nil {
			t.Error("a server with another name is accepted")
		}
		awaitEnd(t, s.p, reasonServerTLS)
	})
}

// Servers are asked for the name that the client has asked for, and for the protocol that was agreed on with it.
func TestTLSServerName(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		s := startTLS(t, kind, tlsMode{true, true}, tlsOptions{
			listener: func(l *config.ServerTLS, _ *certstest.Authority) { l.ALPN = []string{"p1", "p2"} },
		})
		var name, protocol atomic.Value
		s.server.NextProtos = []string{"p2"}
		s.server.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			name.Store(h.ServerName)
			protocol.Store(h.SupportedProtos)
			return nil, nil //nolint:nilnil // the configuration stays
		}
		s.echo()
		cfg := s.client.Clone()
		cfg.NextProtos = []string{"p2"}
		if _, err := s.visit(cfg); err != nil {
			t.Fatal(err)
		}
		if got := protocol.Load().([]string); name.Load() != "proxy.test" || len(got) != 1 || got[0] != "p2" {
			t.Errorf("asked for %v, %v", name.Load(), got)
		}
	})
}

// A certificate that changes is used for new connections; those that are open stay, and none fails.
func TestTLSReload(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		s := startTLS(t, kind, tlsMode{front: true}, tlsOptions{})
		s.echo()
		open := tls.Client(s.dialRaw(), s.client)
		if err := echoes(open); err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		var load sync.WaitGroup
		for range 4 {
			load.Go(func() {
				cfg := s.client.Clone()
				cfg.ClientSessionCache = tls.NewLRUClientSessionCache(1)
				for {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := s.visit(cfg); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for range 5 {
			cert := s.ca.Issue("cert", certstest.Key(t), time.Hour, "proxy.test")
			next := *s.plan
			next.Listeners = append(next.Listeners[:0:0], next.Listeners...)
			s.load(&next)
			c, err := s.p.Prepare(&next, plan.Compare(s.plan, &next))
			if err != nil {
				t.Fatal(err)
			}
			c.Commit()
			s.plan = &next
			state, err := s.visit(s.client)
			if err != nil || !state.PeerCertificates[0].Equal(s.ca.Pair(cert).Leaf) {
				t.Fatalf("the new certificate is not used: %v", err)
			}
			time.Sleep(20 * time.Millisecond) // under load
		}
		close(stop)
		load.Wait()
		if err := echoes(open); err != nil {
			t.Error(err)
		}
		if n := s.p.Stats().Listeners[0].Certificates; len(n) != 1 || n[0].Name != "proxy.test" {
			t.Errorf("%+v", n)
		}
	})
}

// A client that stays behind is not waited for: the handshakes of others take their turns.
func TestTLSManyHandshakes(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		s := startTLS(t, kind, tlsMode{true, true}, tlsOptions{loops: 1})
		s.echo()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, err := s.visit(s.client); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

// A server without TLS stands beside others of its backend, also after an attempt with TLS has failed.
func TestPlainServer(t *testing.T) {
	onEachMode(t, func(t *testing.T, ring reactor.RingKind, mode tlsMode) {
		if !mode.back {
			t.Skip("there is no TLS with servers anyway")
		}
		for _, first := range []bool{false, true} {
			refuses := listen(t)
			s := startTLS(t, ring, mode, tlsOptions{more: []net.Listener{refuses}, loops: 1})
			next := *s.plan
			b := s.plan.Backends[0]
			b.Settings.Retries = 1
			b.Servers = slices.Clone(b.Servers)
			for i := range b.Servers { // which one is first is its priority
				plain := b.Servers[i].Address.String() == s.ln.Addr().String()
				b.Servers[i].Plain = plain
				b.Servers[i].Priority = map[bool]int{true: 0, false: 1}[plain == first]
			}
			next.Backends = []plan.Backend{b}
			change, err := s.p.prepareChange(&next)
			if err != nil {
				t.Fatal(err)
			}
			change.Commit()
			go func() { // it speaks no TLS
				for {
					c, err := refuses.Accept()
					if err != nil {
						return
					}
					c.Close()
				}
			}()
			c := s.dial()
			if err := shake(c); err != nil {
				t.Fatal(err)
			}
			write(t, c, "question")
			served := acceptFrom(t, s.ln)
			expect(t, served, "question")
			write(t, served, "answer")
			expect(t, c, "answer")
			if err := served.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
				t.Errorf("%d bytes, %v; want EOF", n, err)
			}
		}
	})
}

// The client's last message is acknowledged when the handshake is done: nothing else may follow for long, and a client
// with Nagle's algorithm waits for that with its first bytes.
func TestTLSFinishedIsAcknowledged(t *testing.T) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		s := startTLS(t, kind, tlsMode{front: true}, tlsOptions{loops: 1})
		s.pair()
		var quick []int
		waitFor(t, "the connection is there", func() bool {
			quick = nil
			err := s.p.visit(t.Context(), memberLists[0], func(m member) bool {
				c := m.(*conn)
				if v, err := unix.GetsockoptInt(c.sockets[client].Fd(), unix.IPPROTO_TCP, unix.TCP_QUICKACK); err == nil {
					quick = append(quick, v)
				}
				return true
			})
			return err == nil && len(quick) == 1
		})
		if quick[0] != 1 {
			t.Error("the acknowledgement is delayed")
		}
	})
}
