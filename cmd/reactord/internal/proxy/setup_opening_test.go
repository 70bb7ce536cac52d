package proxy

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/proxyproto"
	"github.com/reactord/reactord/reactor"
)

func prefixes(all ...string) (out []config.Prefix) {
	for _, s := range all {
		out = append(out, config.Prefix{Prefix: netip.MustParsePrefix(s)})
	}
	return out
}

// trusting has a listener begin connections with PROXY headers.
func trusting(l *plan.Listener) { l.ProxyProtocol.Trusted = prefixes("127.0.0.0/8") }

// startAs runs a proxy of one loop, whose listener and backend are changed.
func startAs(t *testing.T, ring reactor.RingKind, l func(*plan.Listener), b func(*config.Backend),
	servers ...net.Listener,
) *Proxy {
	t.Helper()
	cfg := setupOf(Backend{Set: b}, servers...)
	cfg.Loops, cfg.Listeners[0].Set = 1, l
	return cfg.on(ring).run(t)
}

func dialProxy(t *testing.T, p *Proxy) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

func acceptFrom(t *testing.T, ln net.Listener) *net.TCPConn {
	t.Helper()
	_ = ln.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Second))
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

func write(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		t.Fatal(err)
	}
}

// expect reads exactly want.
func expect(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v; want %q", got[:n], err, want)
	}
}

// expectEnd waits until a connection has ended for a reason.
func expectEnd(t *testing.T, p *Proxy, why closeReason) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		n := uint64(0)
		for i, c := range p.Stats().Listeners[0].Ended {
			n += c.Count
			switch {
			case c.Count == 0:
			case closeReason(i) == why:
				return
			default:
				t.Fatalf("the connection has ended as %v, want %v", closeReason(i), why)
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections have ended, none as %v", n, why)
		}
	}
}

var (
	told1 = "PROXY TCP4 192.0.2.7 192.0.2.9 4711 443\r\n"
	told2 = string(proxyproto.Append(nil, &proxyproto.Header{
		Version: 2, Source: netip.MustParseAddrPort("[2001:db8::7]:4711"),
		Destination: netip.MustParseAddrPort("[2001:db8::9]:443"),
		TLVs:        proxyproto.AppendTLVString(nil, proxyproto.Authority, "example.org"),
	}))
)

// A PROXY header is consumed wherever it is cut, and what follows it is passed on.
func TestPROXYHeaderCutAnywhere(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startAs(t, ring, trusting, nil, ln)
		for _, header := range []string{told1, told2} {
			source := "192.0.2.7:4711"
			if header == told2 {
				source = "[2001:db8::7]:4711"
			}
			stream := header + "hello"
			for cut := range len(stream) {
				c := dialProxy(t, p)
				_ = c.SetNoDelay(true)
				write(t, c, stream[:cut])
				if cut%8 == 1 {
					time.Sleep(time.Millisecond) // so that it is received alone
				}
				write(t, c, stream[cut:])
				s := acceptFrom(t, ln)
				expect(t, s, "hello")
				if cut == 0 {
					all, err := p.Connections(t.Context(), Filter{}, 0)
					if err != nil || len(all) != 1 || all[0].Client.String() != source || all[0].FromClient != 5 {
						t.Errorf("%+v, %v", all, err)
					}
				}
				write(t, s, "bye")
				expect(t, c, "bye")
				c.Close()
				s.Close()
			}
		}
	})
}

// The ends of openings, each as it is counted and as the client is told.
func TestEndsOfOpenings(t *testing.T) {
	sni := func(l *plan.Listener) {
		l.Backend, l.Routes = "", []config.Route{{SNI: []string{"a.test"}, Backend: "b"}}
	}
	cert, _ := certFiles(t)
	secure := func(l *plan.Listener) {
		l.TLS.Certificates, l.TLS.HandshakeTimeout = []config.Certificate{cert}, 50*time.Millisecond
	}
	for _, test := range []struct {
		name   string
		set    func(*plan.Listener)
		client func(t *testing.T, c *net.TCPConn)
		want   closeReason
	}{
		{"timeout", func(l *plan.Listener) { trusting(l); l.InspectTimeout = 20 * time.Millisecond }, expectResetOf,
			reasonOpeningTimeout},
		{"timeout of a ClientHello", func(l *plan.Listener) { sni(l); l.InspectTimeout = 20 * time.Millisecond },
			sends("\x16\x03\x01\x01", expectResetOf), reasonOpeningTimeout},
		{"untrusted", func(l *plan.Listener) { l.ProxyProtocol.Trusted = prefixes("192.0.2.0/24") },
			expectResetOf, reasonUntrusted},
		{"no header", trusting, sends("GET / HTTP/1.1\r\n", expectResetOf), reasonBadHeader},
		{"long header", trusting, sends("\r\n\r\n\x00\r\nQUIT\n\x21\x11\xff\xff", expectResetOf), reasonBadHeader},
		{"denied", func(l *plan.Listener) { trusting(l); l.Deny = prefixes("192.0.2.0/24") },
			sends(told1, expectResetOf), reasonDenied},
		{"not allowed", func(l *plan.Listener) { trusting(l); l.Allow = prefixes("127.0.0.0/8") },
			sends(told1, expectResetOf), reasonDenied},
		{"EOF", trusting, sends("PROXY", halfCloses),
			reasonOpeningClient},
		{"reset", trusting, sends("PROXY", resets), reasonOpeningClient},
		{"EOF in a ClientHello", sni, sends("\x16\x03", halfCloses),
			reasonOpeningClient},
		{"no ClientHello", sni, sends("SSH-2.0-x\r\n", expectResetOf), reasonBadHello},
		{"no route", sni, sends(string(hello(t, "b.test")), expectResetOf), reasonNoRoute},
		{"no route without a ClientHello", func(l *plan.Listener) {
			l.Backend, l.Routes = "", []config.Route{{Sources: prefixes("192.0.2.0/24"), Backend: "b"}}
		}, expectResetOf, reasonNoRoute},
		{"no TLS", secure, sends("GET / HTTP/1.1\r\n\r\n", drained), reasonClientTLS},
		{"EOF in a handshake", secure, sends("\x16\x03\x01", halfClosesAndReads),
			reasonClientTLS},
		{"EOF before a handshake", secure, halfClosesAndReads, reasonOpeningClient},
		{"reset before a handshake", secure, resets, reasonOpeningClient},
		{"EOF behind a header, before a handshake", func(l *plan.Listener) { secure(l); trusting(l) },
			sends(told1, halfClosesAndReads), reasonOpeningClient},
		{"timeout before a handshake", secure, drained, reasonClientTLSTimeout},
		{"timeout of a handshake", secure, sends("\x16\x03\x01", drained), reasonClientTLSTimeout},
		{"bad preamble", func(l *plan.Listener) { sni(l); l.StartTLS = "smtp" },
			sends("EHLO x\r\nMAIL FROM:<a@b.test>\r\nQUIT\r\n", drained), reasonBadPreamble},
		{"EOF in a preamble", func(l *plan.Listener) { sni(l); l.StartTLS = "smtp" },
			halfClosesAndReads, reasonOpeningClient},
		{"timeout of a preamble",
			func(l *plan.Listener) { sni(l); l.StartTLS, l.InspectTimeout = "smtp", 20*time.Millisecond },
			drained, reasonOpeningTimeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
				ln := listen(t)
				p := startAs(t, ring, test.set, nil, ln)
				if c, err := net.Dial("tcp", p.Addrs()[0].String()); err == nil { // else it was reset immediately
					defer c.Close()
					_ = c.SetDeadline(time.Now().Add(20 * time.Second))
					test.client(t, c.(*net.TCPConn))
				}
				expectEnd(t, p, test.want)
			})
		})
	}
}

// drained reads until the connection has ended in any way.
func drained(_ *testing.T, c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) }

func halfCloses(t *testing.T, c *net.TCPConn) { _ = c.CloseWrite(); expectEOF(t, c) }

func halfClosesAndReads(t *testing.T, c *net.TCPConn) { _ = c.CloseWrite(); drained(t, c) }

func sends(s string, then func(*testing.T, *net.TCPConn)) func(*testing.T, *net.TCPConn) {
	return func(t *testing.T, c *net.TCPConn) {
		t.Helper()
		write(t, c, s)
		then(t, c)
	}
}

func resets(_ *testing.T, c *net.TCPConn) { resetConn(c) }

func expectResetOf(t *testing.T, c *net.TCPConn) { t.Helper(); expectReset(t, c) }

// hello is the ClientHello that crypto/tls sends for a name.
func hello(t *testing.T, sni string, alpn ...string) []byte {
	t.Helper()
	c, s := net.Pipe()
	go func() {
		_ = tls.Client(c, &tls.Config{ServerName: sni, NextProtos: alpn, InsecureSkipVerify: true}).Handshake()
	}()
	defer c.Close()
	b := make([]byte, 5)
	if _, err := io.ReadFull(s, b); err != nil {
		t.Fatal(err)
	}
	b = append(b, make([]byte, int(b[3])<<8|int(b[4]))...)
	if _, err := io.ReadFull(s, b[5:]); err != nil {
		t.Fatal(err)
	}
	return b
}

// A connection in its opening is listed, closed and drained as others.
func TestOpeningIsAConnection(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startAs(t, ring, func(l *plan.Listener) { trusting(l); l.InspectTimeout = time.Hour }, nil, ln)
		c := dialProxy(t, p)
		write(t, c, "PROXY")
		var all []Connection
		for deadline := time.Now().Add(10 * time.Second); len(all) == 0; {
			if all, _ = p.Connections(t.Context(), Filter{}, 0); time.Now().After(deadline) {
				t.Fatal("the connection is not listed")
			}
		}
		if c := all[0]; c.Phase != "opening" || c.Backend != "" || c.Server != "" || !c.Client.IsValid() {
			t.Errorf("%+v", c)
		}
		if n, err := p.CloseConnections(t.Context(), Filter{Backend: "b"}); n != 0 || err != nil {
			t.Errorf("%d connections of the backend were closed, %v", n, err)
		}
		if n, err := p.CloseConnections(t.Context(), Filter{Listener: "l"}); n != 1 || err != nil {
			t.Errorf("%d connections were closed, %v", n, err)
		}
		expectReset(t, c)
		expectEnd(t, p, reasonAdmin)
	})
}

// A drain lets openings go on, and its timeout resets them.
func TestDrainInTheOpening(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startAs(t, ring, func(l *plan.Listener) { trusting(l); l.InspectTimeout = time.Hour }, nil, ln)
		on, stuck := dialProxy(t, p), dialProxy(t, p)
		write(t, on, "PROXY")
		write(t, stuck, "PROXY")
		waitFor(t, "both are open", func() bool { return p.Open() == 2 })
		drained := make(chan error, 1)
		go func() { drained <- p.Drain(t.Context(), config.Drain{Timeout: time.Second}) }()
		waitFor(t, "it drains", func() bool { return p.DrainPhase() == DrainClosing })
		write(t, on, strings.TrimPrefix(told1, "PROXY")+"hello")
		s := acceptFrom(t, ln)
		expect(t, s, "hello")
		on.Close()
		s.Close()
		if err := <-drained; !errors.Is(err, ErrDrainTimeout) {
			t.Errorf("the drain has ended with %v", err)
		}
		expectReset(t, stuck)
	})
}

// A ClientHello chooses the backend, and is passed on untouched however it comes. TLS works end to end.
func TestRoutesBySNI(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		a, b := listen(t), listen(t)
		cfg := setupOf(Backend{}, a)
		cfg.addOther(b)
		cfg.Loops, cfg.Listeners[0].Backend = 1, ""
		cfg.Listeners[0].Set = func(l *plan.Listener) {
			l.Routes = []config.Route{
				{SNI: []string{"A.test"}, Backend: "b"},
				{Name: "wild", SNI: []string{"*.a.test"}, Backend: "other"},
			}
		}
		p := cfg.on(ring).run(t)
		for _, test := range []struct {
			sni string
			to  net.Listener
		}{{"a.test", a}, {"A.TEST", a}, {"x.a.test", b}, {"y.x.a.test", b}} {
			first := hello(t, test.sni)
			for cut := 0; cut < len(first); cut += 1 + len(first)/16 {
				c := dialProxy(t, p)
				write(t, c, string(first[:cut]))
				if cut != 0 {
					time.Sleep(100 * time.Microsecond) // so that it is received alone
				}
				write(t, c, string(first[cut:])+"more")
				s := acceptFrom(t, test.to)
				expect(t, s, string(first)+"more")
				c.Close()
				s.Close()
			}
		}
	})
}

// The bytes of a client in front of TLS, and those behind it, arrive as they were sent, over many turns.
func TestEarlyBytesAreNotLost(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startAs(t, ring, trusting, nil, ln)
		want := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
		c := dialProxy(t, p)
		go func() {
			_, _ = c.Write(append([]byte(told1), want...))
			_ = c.CloseWrite()
		}()
		s := acceptFrom(t, ln)
		got, err := io.ReadAll(s)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("got %d bytes, %v; want %d", len(got), err, len(want))
		}
		s.Close()
		expectEnd(t, p, reasonNormal)
		if n := p.Stats().Listeners[0].ReceivedBytes; n != uint64(len(want)) {
			t.Errorf("%d bytes are counted, want %d", n, len(want))
		}
	})
}

// A reset is passed on as one, although bytes were consumed before.
func TestResetBehindAHeader(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startAs(t, ring, trusting, nil, ln)
		c := dialProxy(t, p)
		write(t, c, told1+"hello")
		s := acceptFrom(t, ln)
		expect(t, s, "hello")
		resetConn(c)
		expectReset(t, s)
		expectEnd(t, p, reasonClientReset)
	})
}

// A header that tells no address, as of the checks of another proxy, leaves that of the socket.
func TestPROXYHeaderWithoutAddress(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startAs(t, ring, trusting, nil, ln)
		for _, header := range []string{
			"PROXY UNKNOWN\r\n", string(proxyproto.Append(nil, &proxyproto.Header{Version: 2, Local: true})),
		} {
			c := dialProxy(t, p)
			write(t, c, header+"hello")
			s := acceptFrom(t, ln)
			expect(t, s, "hello")
			all, err := p.Connections(t.Context(), Filter{}, 1)
			if err != nil || len(all) != 1 || all[0].Client.String() != c.LocalAddr().String() {
				t.Errorf("%+v, %v", all, err)
			}
		}
	})
}

// allow and deny count for the address of the socket if the header tells none: UNKNOWN, LOCAL, or UNSPEC.
func TestPROXYHeaderWithoutAddressIsNoWayAround(t *testing.T) {
	unspec := proxyproto.Append(nil, &proxyproto.Header{Version: 2, Local: true})
	unspec[12] |= 1 // PROXY instead of LOCAL
	headers := []string{
		"PROXY UNKNOWN\r\n", "PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", string(unspec),
		string(proxyproto.Append(nil, &proxyproto.Header{Version: 2, Local: true})),
	}
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		for _, lists := range []func(*plan.Listener){
			func(l *plan.Listener) { l.Deny = prefixes("127.0.0.0/8") },
			func(l *plan.Listener) { l.Allow = prefixes("10.9.9.9/32") },
		} {
			p := startAs(t, ring, func(l *plan.Listener) { trusting(l); lists(l) }, nil, ln)
			for _, header := range headers {
				c := dialProxy(t, p)
				write(t, c, header+"hello")
				expectReset(t, c)
			}
			expectEnd(t, p, reasonDenied)
		}
	})
}

// An optional PROXY header counts if it comes; otherwise the first bytes are the client's, however they are cut, even
// if they begin nearly as a header.
func TestOptionalPROXYHeader(t *testing.T) {
	v2 := string(proxyproto.Append(nil, &proxyproto.Header{
		Version: 2, Source: netip.MustParseAddrPort("192.0.2.7:4711"), Destination: netip.MustParseAddrPort("192.0.2.9:443"),
	}))
	optional := func(l *plan.Listener) {
		trusting(l)
		l.ProxyProtocol.Optional = true
		l.Deny = prefixes("192.0.2.8/32")
	}
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startAs(t, ring, optional, nil, ln)
		for _, test := range []struct{ header, rest string }{
			{told1, "hello"}, {v2, "hello"}, {"", "hello"}, {"", "PROXIMITY"}, {"", "PROXY_"}, {"", "P!"},
			{"", v2[:11] + "!"}, {"", "\r\n\r\nGET"},
		} {
			all := test.header + test.rest
			for cut := range len(all) {
				c := dialProxy(t, p)
				write(t, c, all[:cut])
				if cut != 0 {
					time.Sleep(100 * time.Microsecond) // so that it is received alone
				}
				write(t, c, all[cut:])
				s := acceptFrom(t, ln)
				expect(t, s, test.rest)
				want := c.LocalAddr().String()
				if test.header != "" {
					want = "192.0.2.7:4711"
				}
				known, err := p.Connections(t.Context(), Filter{}, 1)
				if err != nil || len(known) != 1 || known[0].Client.String() != want {
					t.Fatalf("%q: %+v, %v; want the client %s", all, known, err, want)
				}
				c.Close()
				s.Close()
				waitFor(t, "it has ended", func() bool { return p.Open() == 0 })
			}
		}
		denied := dialProxy(t, p)
		write(t, denied, "PROXY TCP4 192.0.2.8 192.0.2.9 1 2\r\n")
		expectReset(t, denied)
		without := startAs(t, ring, func(l *plan.Listener) {
			optional(l)
			l.Deny = prefixes("127.0.0.0/8")
		}, nil, ln)
		denied = dialProxy(t, without)
		write(t, denied, "no header")
		expectReset(t, denied)
		silent := startAs(t, ring, func(l *plan.Listener) {
			optional(l)
			l.InspectTimeout = 50 * time.Millisecond
		}, nil, ln)
		expectReset(t, dialProxy(t, silent))
		expectEnd(t, silent, reasonOpeningTimeout)
	})
}
