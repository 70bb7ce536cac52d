package proxy

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
)

// duplex is a connection of one of the sides.
type duplex interface {
	net.Conn
	CloseWrite() error
}

// tlsMode is where there is TLS.
type tlsMode struct{ front, back bool }

func (m tlsMode) String() string {
	switch m {
	case tlsMode{true, false}:
		return "terminate"
	case tlsMode{false, true}:
		return "originate"
	}
	return "both"
}

var tlsModes = []tlsMode{{true, false}, {false, true}, {true, true}}

// tlsSetup is a proxy with TLS on one side or on both.
type tlsSetup struct {
	tlsMode
	t      *testing.T
	ca     *certstest.Authority
	ln     net.Listener
	p      *Proxy
	plan   *plan.Plan
	client *tls.Config // of clients
	server *tls.Config // of the server
}

// tlsOptions is what a setup has beside its mode. The functions may be nil.
type tlsOptions struct {
	backend  Backend
	listener func(*config.ServerTLS, *certstest.Authority)
	servers  func(*config.ClientTLS, *certstest.Authority)
	more     []net.Listener // servers before the one of the setup
	loops    int            // 0: 2
}

func startTLS(t *testing.T, kind reactor.RingKind, mode tlsMode, o tlsOptions) *tlsSetup {
	t.Helper()
	s := &tlsSetup{tlsMode: mode, t: t, ca: certstest.New(t), ln: listen(t)}
	cert := s.ca.Issue("cert", certstest.Key(t), time.Hour, "proxy.test", "127.0.0.1")
	s.client = &tls.Config{RootCAs: s.ca.Pool, ServerName: "proxy.test"}
	s.server = &tls.Config{Certificates: []tls.Certificate{s.ca.Pair(cert)}}
	f := setupOf(o.backend, append(o.more, s.ln)...)
	f.Ring, f.Loops = kind, max(o.loops, 1)
	if o.loops == 0 {
		f.Loops = 2
	}
	s.plan = f.plan()
	if mode.front {
		l := &s.plan.Listeners[0]
		l.TLS.Certificates = []config.Certificate{{Cert: cert}}
		if o.listener != nil {
			o.listener(&l.TLS, s.ca)
		}
	}
	if mode.back {
		b := s.plan.Backends[0].Settings
		b.TLS.Enabled, b.TLS.CA = true, s.ca.File
		if o.servers != nil {
			o.servers(&b.TLS, s.ca)
		}
	}
	s.load(s.plan)
	s.p = runPlan(t, f.Config, s.plan)
	return s
}

// load reads the files that a plan names.
func (s *tlsSetup) load(p *plan.Plan) {
	s.t.Helper()
	l, b := &p.Listeners[0], &p.Backends[0]
	var wrong, also []certs.Problem
	l.Keys, wrong = certs.LoadServer(&l.TLS, nil)
	b.Keys, also = certs.LoadClient(&b.Settings.TLS, nil)
	if wrong = append(wrong, also...); len(wrong) != 0 {
		s.t.Fatalf("%+v", wrong)
	}
}

// dialRaw connects a client without TLS.
func (s *tlsSetup) dialRaw() *net.TCPConn {
	s.t.Helper()
	c, err := s.tryDialRaw()
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *tlsSetup) tryDialRaw() (*net.TCPConn, error) {
	c, err := net.Dial("tcp", s.p.Addrs()[0].String())
	if err != nil {
		return nil, err
	}
	s.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c.(*net.TCPConn), nil
}

// dial connects a client, without a handshake.
func (s *tlsSetup) dial() duplex {
	s.t.Helper()
	return s.over(s.dialRaw())
}

// tryDial is dial for a client that the proxy may reset before it knows that it is connected.
func (s *tlsSetup) tryDial() (duplex, error) {
	c, err := s.tryDialRaw()
	if err != nil {
		return nil, err
	}
	return s.over(c), nil
}

// over returns the client's side of a connection.
func (s *tlsSetup) over(c *net.TCPConn) duplex {
	if !s.front {
		return c
	}
	return tls.Client(c, s.client)
}

// accept accepts a connection of the proxy, without a handshake.
func (s *tlsSetup) accept() duplex {
	c, err := s.ln.Accept()
	if err != nil {
		s.t.Error(err)
		return nil
	}
	s.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if !s.back {
		return c.(*net.TCPConn)
	}
	return tls.Server(c, s.server)
}

func shake(c net.Conn) error {
	if c, ok := c.(*tls.Conn); ok {
		return c.Handshake()
	}
	return nil
}

// pair is a client's connection to the proxy, and the server's connection from it, after the handshakes.
func (s *tlsSetup) pair() (client, server duplex) {
	s.t.Helper()
	client = s.dial()
	accepted := make(chan error, 1)
	go func() {
		server = s.accept()
		accepted <- shake(server)
	}()
	if err := errors.Join(shake(client), <-accepted); err != nil {
		s.t.Fatal(err)
	}
	return client, server
}

// raw is the TCP connection below.
func raw(c net.Conn) *net.TCPConn {
	if c, ok := c.(*tls.Conn); ok {
		return c.NetConn().(*net.TCPConn)
	}
	return c.(*net.TCPConn)
}

// resetConn closes a connection with a reset.
func resetConn(c net.Conn) {
	_ = raw(c).SetLinger(0)
	_ = raw(c).Close()
}

// onEachMode runs a test on every ring in every mode.
func onEachMode(t *testing.T, test func(t *testing.T, kind reactor.RingKind, mode tlsMode)) {
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, mode := range tlsModes {
			t.Run(mode.String(), func(t *testing.T) { test(t, kind, mode) })
		}
	})
}

// awaitEnd waits until a connection has ended in some way.
func awaitEnd(t *testing.T, p *Proxy, why closeReason) {
	t.Helper()
	l := p.table.Load().listeners[0]
	for deadline := time.Now().Add(10 * time.Second); l.stats.closed[why].Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			var all []string
			for i := range closeReasons {
				if l.stats.closed[i].Load() != 0 {
					all = append(all, closeReason(i).String())
				}
			}
			t.Fatalf("no connection has ended with %s; ended: %v", why, all)
		}
	}
}
