package proxy

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
)

// faultTest is servers, and what a client makes of them.
type faultTest struct {
	servers  []func(*tlsSetup, net.Conn)
	protocol string // that the listener and the client speak
	name     string // that the client asks for
	backend  func(*config.Backend)
	tries    int         // servers that each of the client's connections reaches; 0: any number
	served   bool        // the client's connections are served in the end
	ejected  int         // servers that are ejected in the end
	end      closeReason // of the client's connections; 0: any
}

// speaksAs ends TLS with a certificate of the setup.
func speaksAs(expires time.Duration, name string, protocols ...string) func(*tlsSetup, net.Conn) {
	return func(s *tlsSetup, c net.Conn) {
		pair := s.ca.Pair(s.ca.Issue("one", certstest.Key(s.t), expires, name))
		d := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: protocols})
		_, _ = io.Copy(d, d)
	}
}

// saysTo says something to each client behind its PROXY header, and ends.
func saysTo(text string) func(*tlsSetup, net.Conn) {
	return func(_ *tlsSetup, c net.Conn) {
		_, _ = io.WriteString(c, text)
		_, _ = c.Read(make([]byte, 512))
	}
}

func resetsTo(_ *tlsSetup, c net.Conn) {
	_, _ = c.Read(make([]byte, 1))
	resetConn(c)
}

var (
	good  = speaksAs(time.Hour, "proxy.test")
	smtp  = func(b *config.Backend) { b.TLS.StartTLS, b.ProxyProtocol.Version = "smtp", "v1" }
	named = func(b *config.Backend) { b.TLS.ServerName = "proxy.test" }
)

var faultTests = map[string]faultTest{
	"a name of the client": {servers: times(3, good), name: "evil.test", tries: 1, end: reasonServerTLSClient},
	"no name of the client": {servers: times(3, speaksAs(time.Hour, "other.test")), name: "127.0.0.2", tries: 1,
		end: reasonServerTLSClient},
	"a protocol of the client": {servers: times(3, speaksAs(time.Hour, "proxy.test", "other")), name: "proxy.test",
		protocol: "one", tries: 1, end: reasonServerTLSClient},
	"servers that close for a name": {
		servers: times(3, resetsTo), name: "evil.test", tries: 2, end: reasonServerTLSClient,
	},
	"servers with an expired certificate for a name": {servers: times(3, speaksAs(-time.Hour, "old.test")),
		name: "old.test", tries: 2, end: reasonServerTLSClient},
	"a block list": {servers: times(3, saysTo("554 5.7.1 you are listed\r\n")), name: "proxy.test", backend: smtp,
		tries: 1, end: reasonServerTLSClient},
	"a block list that closes": {servers: times(3, resetsTo), name: "proxy.test", backend: smtp, tries: 2,
		end: reasonServerTLSClient},
	"one server resets": {servers: append(times(2, good), resetsTo), name: "proxy.test", served: true, ejected: 1},
	"one server has expired": {servers: append(times(2, good), speaksAs(-time.Hour, "proxy.test")), name: "proxy.test",
		served: true, ejected: 1},
	"one server has no TLS": {servers: append(times(2, good), saysTo("220 hello\r\n")), name: "proxy.test",
		served: true, ejected: 1},
	"a configured name": {servers: times(3, speaksAs(time.Hour, "other.test")), name: "proxy.test", backend: named,
		ejected: 1},
	"a name that is not passed on": {servers: times(3, good), name: "evil.test", backend: named, tries: 1, served: true},
	"a block list without PROXY": {servers: times(3, saysTo("554 no\r\n")), name: "proxy.test",
		backend: func(b *config.Backend) { b.TLS.StartTLS = "smtp" }, ejected: 1},
}

func times(n int, f func(*tlsSetup, net.Conn)) (all []func(*tlsSetup, net.Conn)) {
	for range n {
		all = append(all, f)
	}
	return all
}

// What depends on the client counts against no server, and is not tried with all of them. What does not, counts.
func TestClientsEjectNoServers(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for name, test := range faultTests {
			t.Run(name, func(t *testing.T) { test.run(t, ring) })
		}
	})
}

func (test *faultTest) run(t *testing.T, ring reactor.RingKind) {
	const connections = 12
	var reached atomic.Int64
	var all []net.Listener
	for range test.servers {
		all = append(all, listen(t))
	}
	s := startTLS(t, ring, tlsMode{true, true}, tlsOptions{
		more: all[1:], loops: 1,
		listener: func(l *config.ServerTLS, _ *certstest.Authority) {
			if test.protocol != "" {
				l.ALPN = []string{test.protocol}
			}
		},
		backend: Backend{Set: func(b *config.Backend) {
			b.Retries, b.RetryBudget.Percent, b.RetryBudget.Min = 3, 100, 100
			b.Ejection.Failures, b.Ejection.Time, b.Ejection.MaxPercent, b.Balance.PanicThreshold = 3, time.Hour, 50, 0
			if test.backend != nil {
				test.backend(b)
			}
		}},
	})
	all[0].Close()
	all[0] = s.ln
	for i, serve := range test.servers {
		go func() {
			for {
				c, err := all[i].Accept()
				if err != nil {
					return
				}
				reached.Add(1)
				go func() {
					defer c.Close()
					_ = c.SetDeadline(time.Now().Add(20 * time.Second))
					serve(s, c)
				}()
			}
		}()
	}
	cfg := &tls.Config{InsecureSkipVerify: true, ServerName: test.name}
	if test.protocol != "" {
		cfg.NextProtos = []string{test.protocol}
	}
	for i := range connections {
		if _, err := s.visit(cfg); (err == nil) != test.served {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	waitFor(t, "the connections have ended", func() bool { return s.p.Open() == 0 })
	if n := reached.Load(); test.tries != 0 && n != int64(test.tries)*connections {
		t.Errorf("%d connections to servers, want %d", n, test.tries*connections)
	}
	if n := s.p.table.Load().listeners[0].stats.closed[test.end].Load(); test.end != reasonNormal && n < connections/3 {
		t.Errorf("%d connections have ended by %s", n, test.end)
	}
	ejections := func() (n int) {
		for _, one := range s.p.Stats().Servers {
			n += int(one.Ejections)
		}
		return n
	}
	if test.ejected != 0 {
		waitFor(t, "a server is ejected", func() bool { return ejections() == test.ejected })
	}
	if n := ejections(); n != test.ejected {
		t.Errorf("%d servers are ejected, want %d", n, test.ejected)
	}
}
