package proxy

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
)

// mixed is a port that ends TLS for some names, with certificates of their own, and passes it on for others.
type mixed struct {
	t      *testing.T
	ca     *certstest.Authority
	f      fixture
	p      *Proxy
	plain  net.Listener // of the backend b
	secure net.Listener // of the backend other, which speaks TLS itself
	cert   tls.Certificate
}

// certificate issues one for a name, as the settings of a route.
func (m *mixed) certificate(name string) config.ServerTLS {
	s := config.NewRoute().TLS
	s.Certificates = []config.Certificate{{Cert: m.ca.Issue(name, certstest.Key(m.t), time.Hour, name)}}
	return s
}

func newMixed(t *testing.T, ring reactor.RingKind) *mixed {
	t.Helper()
	m := &mixed{t: t, ca: certstest.New(t), plain: listen(t), secure: listen(t)}
	m.cert = m.ca.Pair(m.ca.Issue("own", certstest.Key(t), time.Hour, "own.test", "server.test"))
	m.f = setupOf(Backend{}, m.plain).on(ring)
	m.f.addOther(m.secure)
	m.f.Loops, m.f.Listeners[0].Backend = 1, ""
	return m
}

// run runs the proxy with these routes.
func (m *mixed) run(set func(*plan.Listener)) {
	m.t.Helper()
	m.f.Listeners[0].Set = set
	m.p = m.f.run(m.t)
}

// dial begins TLS with the proxy.
func (m *mixed) dial(c *tls.Config) *tls.Conn {
	c.RootCAs = m.ca.Pool
	return tls.Client(dialProxy(m.t, m.p), c)
}

// ends expects that TLS ends at the proxy, with the certificate for a name, and that bytes reach the backend b.
func (m *mixed) ends(sni, name string) *tls.Conn {
	m.t.Helper()
	c := m.dial(&tls.Config{ServerName: sni, InsecureSkipVerify: true})
	if err := c.Handshake(); err != nil {
		m.t.Fatalf("%s: %v", sni, err)
	}
	if got := c.ConnectionState().PeerCertificates[0].DNSNames[0]; got != name {
		m.t.Errorf("%q is shown the certificate for %s, want %s", sni, got, name)
	}
	s := acceptFrom(m.t, m.plain)
	write(m.t, c, "question")
	expect(m.t, s, "question")
	write(m.t, s, "answer")
	expect(m.t, c, "answer")
	return c
}

// passes expects that TLS ends at the server of the backend other.
func (m *mixed) passes(sni string) {
	m.t.Helper()
	c := m.dial(&tls.Config{ServerName: sni, InsecureSkipVerify: true})
	done := make(chan error, 1)
	go func() { done <- c.Handshake() }()
	s := tls.Server(acceptFrom(m.t, m.secure), &tls.Config{Certificates: []tls.Certificate{m.cert}})
	if err := errors.Join(s.Handshake(), <-done); err != nil {
		m.t.Fatalf("%s: %v", sni, err)
	}
	if got := s.ConnectionState().ServerName; got != sni {
		m.t.Errorf("the server was asked for %q, want %q", got, sni)
	}
	write(m.t, c, "question")
	expect(m.t, s, "question")
}

// One port ends TLS for some names, each with its own certificate, versions, protocols and rules for clients, and
// passes it on for others; and it takes clients that speak none. It does so whether the listener ends TLS or not, and
// behind STARTTLS.
func TestRoutesEndTLSAndPassItOn(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, own := range []bool{false, true} {
			m := newMixed(t, ring)
			strict := m.certificate("strict.test")
			strict.MinVersion, strict.ALPN, strict.ClientAuth, strict.ClientCA = "1.3", []string{"h2"}, "require", m.ca.File
			m.run(func(l *plan.Listener) {
				l.Routes = []config.Route{
					{SNI: []string{"a.test"}, TLS: m.certificate("a.test"), Backend: "b"},
					{SNI: []string{"*.w.test"}, TLS: m.certificate("wild.test"), Backend: "b"},
					{SNI: []string{"strict.test"}, TLS: strict, Backend: "b"},
					{SNI: []string{"own.test"}, Passthrough: own, Backend: "other"},
					{Transport: "raw", Backend: "b"},
				}
				if own {
					l.TLS, l.Backend = m.certificate("listener.test"), "b"
				} else {
					l.Routes = append(l.Routes, config.Route{TLS: m.certificate("any.test"), Backend: "b"})
				}
			})
			m.ends("a.test", "a.test")
			m.ends("x.w.test", "wild.test")
			m.passes("own.test")
			rest := map[bool]string{true: "listener.test", false: "any.test"}[own]
			m.ends("b.test", rest)
			m.ends("", rest)
			c := dialProxy(t, m.p)
			write(t, c, "no TLS")
			expect(t, acceptFrom(t, m.plain), "no TLS")
			for _, wrong := range []*tls.Config{
				{MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{m.cert}, NextProtos: []string{"h2"}},
				{Certificates: []tls.Certificate{m.cert}, NextProtos: []string{"other"}},
				{NextProtos: []string{"h2"}},
			} {
				wrong.ServerName = "strict.test"
				c := m.dial(wrong)
				if _, err := c.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "remote error") {
					t.Errorf("a client was let in that the route does not accept: %v", err)
				}
			}
			right := m.dial(&tls.Config{
				ServerName: "strict.test", Certificates: []tls.Certificate{m.cert}, NextProtos: []string{"h2"},
			})
			write(t, right, "let in")
			expect(t, acceptFrom(t, m.plain), "let in")
			stats := m.p.Stats().Listeners[0]
			if n := len(stats.Certificates); n != 4 || stats.Handshakes == nil {
				t.Errorf("%d certificates are watched, want 4", n)
			}
		}
	})
}

// A ClientHello that comes in pieces is read before the route is known, and nothing of it is lost.
func TestRouteEndsTLSOfAHelloInPieces(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		m := newMixed(t, ring)
		m.run(func(l *plan.Listener) {
			l.StartTLS = "postgresql"
			l.Routes = []config.Route{
				{SNI: []string{"a.test"}, TLS: m.certificate("a.test"), Backend: "b"},
				{SNI: []string{"own.test"}, Backend: "other"},
			}
		})
		raw := dialProxy(t, m.p)
		write(t, raw, sslRequest)
		expect(t, raw, "S")
		c := tls.Client(slowly{raw}, &tls.Config{RootCAs: m.ca.Pool, ServerName: "a.test"})
		if err := c.Handshake(); err != nil {
			t.Fatal(err)
		}
	})
}

// slowly writes byte by byte.
type slowly struct{ *net.TCPConn }

func (s slowly) Write(b []byte) (int, error) {
	for i := range b {
		if _, err := s.TCPConn.Write(b[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(b), nil
}

// An open connection keeps its route and its keys, whatever the next plan says; new ones follow that. Certificates that
// stay keep the sessions of their clients.
func TestRoutesWithTLSOfTheNextPlan(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		m := newMixed(t, ring)
		kept, changed := m.certificate("kept.test"), m.certificate("before.test")
		routes := func(l *plan.Listener) {
			l.Routes = []config.Route{
				{SNI: []string{"kept.test"}, TLS: kept, Backend: "b"}, {SNI: []string{"a.test"}, TLS: changed, Backend: "b"},
			}
		}
		m.run(routes)
		open := m.dial(&tls.Config{ServerName: "a.test", InsecureSkipVerify: true})
		write(t, open, "1")
		s := acceptFrom(t, m.plain)
		expect(t, s, "1")
		resuming := &tls.Config{ServerName: "kept.test", ClientSessionCache: tls.NewLRUClientSessionCache(1)}
		session := func() *tls.Conn {
			c := m.dial(resuming)
			write(t, c, "?")
			served := acceptFrom(t, m.plain)
			expect(t, served, "?")
			write(t, served, "!")
			expect(t, c, "!") // behind the ticket
			return c
		}
		session()
		changed = m.certificate("after.test")
		change, err := m.p.prepareChange(m.f.plan())
		if err != nil {
			t.Fatal(err)
		}
		change.Commit()
		m.ends("a.test", "after.test")
		write(t, open, "2")
		expect(t, s, "2")
		if c := session(); !c.ConnectionState().DidResume {
			t.Error("a session was not resumed, although its certificate has stayed")
		}
		m.f.Listeners[0].Set = func(l *plan.Listener) { l.Backend = "other" }
		if change, err = m.p.prepareChange(m.f.plan()); err != nil {
			t.Fatal(err)
		}
		change.Commit()
		m.passes("a.test")
		write(t, open, "3")
		expect(t, s, "3")
	})
}

// A ticket of a route that asks for less is worth nothing at one that asks for a certificate.
func TestRoutesDoNotShareWhoClientsAre(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		m := newMixed(t, ring)
		s := config.NewRoute().TLS
		s.Certificates = []config.Certificate{{
			Cert: m.ca.Issue("both", certstest.Key(t), time.Hour, "open.test", "strict.test"),
		}}
		strict := s
		strict.ClientAuth, strict.ClientCA = "require", m.ca.File
		m.run(func(l *plan.Listener) {
			l.Routes = []config.Route{
				{SNI: []string{"open.test"}, TLS: s, Backend: "b"}, {SNI: []string{"strict.test"}, TLS: strict, Backend: "b"},
			}
		})
		cache := tls.NewLRUClientSessionCache(1)
		c := m.dial(&tls.Config{ServerName: "open.test", ClientSessionCache: shared{cache}})
		write(t, c, "?")
		served := acceptFrom(t, m.plain)
		expect(t, served, "?")
		write(t, served, "!")
		expect(t, c, "!")
		c = m.dial(&tls.Config{ServerName: "strict.test", ClientSessionCache: shared{cache}})
		if _, err := c.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "certificate required") {
			t.Errorf("a client without a certificate: %v", err)
		}
	})
}

// shared has one session for all names.
type shared struct{ tls.ClientSessionCache }

func (s shared) Get(string) (*tls.ClientSessionState, bool) { return s.ClientSessionCache.Get("") }
func (s shared) Put(_ string, c *tls.ClientSessionState)    { s.ClientSessionCache.Put("", c) }

// A client that speaks no TLS is reset where it ends, and where no route takes it.
func TestRouteEndsTLSOfAClientWithoutIt(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for why, routes := range map[closeReason][]config.Route{
			reasonBadHello: {{Transport: "any", Backend: "b"}},
			reasonNoRoute: {
				{Transport: "raw", Sources: prefixes("192.0.2.0/24"), Backend: "b"},
				{SNI: []string{"a.test"}, Backend: "b"},
			},
		} {
			m := newMixed(t, ring)
			m.run(func(l *plan.Listener) {
				l.Routes = routes
				l.Routes[0].TLS = m.certificate("a.test")
				if why == reasonNoRoute {
					l.Routes[0].TLS, l.Backend = config.ServerTLS{}, "b"
				}
			})
			c := dialProxy(t, m.p)
			write(t, c, "GET / HTTP/1.1\r\n\r\n")
			expectReset(t, c)
			expectEnd(t, m.p, why)
		}
	})
}
