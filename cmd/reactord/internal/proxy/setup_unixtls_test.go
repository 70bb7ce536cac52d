package proxy

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
)

// TestNamesOfUnixServers checks by which names the certificate of a server on a unix socket, which has no host, is
// verified: server_name, else the name that the client has asked for, else sans. Without any, no certificate is
// accepted, and the log says what to set.
func TestNamesOfUnixServers(t *testing.T) {
	for _, test := range []struct {
		name     string
		front    bool // TLS of the client ends here
		settings func(*config.ClientTLS)
		sni      string // that the server sees
		want     string // in the log; "": the connection has a server
	}{
		{"server_name", false, func(c *config.ClientTLS) { c.ServerName = "proxy.test" }, "proxy.test", ""},
		{"server_name before the client's", true, func(c *config.ClientTLS) { c.ServerName = "127.0.0.1" }, "", ""},
		{"another server_name", false, func(c *config.ClientTLS) { c.ServerName = "other.test" }, "other.test",
			"certificate is valid for proxy.test, not other.test"},
		{"the client's name", true, nil, "proxy.test", ""},
		{"sans", false, func(c *config.ClientTLS) { c.SANs = []string{"dns:proxy.test"} }, "", ""},
		{"other sans", false, func(c *config.ClientTLS) { c.SANs = []string{"dns:other.test"} }, "",
			"certificate name not allowed"},
		{"insecure", false, func(c *config.ClientTLS) { c.Insecure = true }, "", ""},
		{"none", false, nil, "", "there is no name to verify it by: set server_name or sans"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
				ca, ln := certstest.New(t), listenPath(t)
				cert := ca.Issue("cert", certstest.Key(t), time.Hour, "proxy.test", "127.0.0.1")
				f := setupOf(Backend{}, ln)
				core, logs := observer.New(zapcore.WarnLevel)
				f.Ring, f.Loops, f.Log = ring, 1, zap.New(core)
				plan := f.plan()
				b := &plan.Backends[0]
				if b.Settings.TLS.Enabled, b.Settings.TLS.CA = true, ca.File; test.settings != nil {
					test.settings(&b.Settings.TLS)
				}
				b.Keys, _ = certs.LoadClient(&b.Settings.TLS, nil)
				if l := &plan.Listeners[0]; test.front {
					l.TLS.Certificates = []config.Certificate{{Cert: cert}}
					l.Keys, _ = certs.LoadServer(&l.TLS, nil)
				}
				p := runPlan(t, f.Config, plan)
				names := make(chan string, 10)
				go echoTLS(ln, &tls.Config{Certificates: []tls.Certificate{ca.Pair(cert)},
					GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
						names <- h.ServerName
						return nil, nil //nolint:nilnil // the configuration stays
					}})
				for range 2 { // the second resumes the session of the first
					c, err := net.Dial("tcp", p.Addrs()[0].String())
					switch {
					case err != nil && test.want == "":
						t.Fatal(err)
					case err == nil: // else it was reset before it knew that it was connected
						exchangeOne(t, c, test.front, ca, test.want == "")
					}
					if got := <-names; got != test.sni {
						t.Errorf("the server was asked for %q, want %q", got, test.sni)
					}
				}
				if test.want == "" {
					return
				}
				waitFor(t, "the log says "+test.want, func() bool {
					for _, e := range logs.All() {
						for _, v := range e.ContextMap() {
							if text, ok := v.(string); ok && strings.Contains(text, test.want) {
								return true
							}
						}
					}
					return false
				})
			})
		})
	}
}

// exchangeOne sends a byte, which is to come back if the server's certificate is good.
func exchangeOne(t *testing.T, c net.Conn, front bool, ca *certstest.Authority, good bool) {
	t.Helper()
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if front {
		c = tls.Client(c, &tls.Config{RootCAs: ca.Pool, ServerName: "proxy.test"})
	}
	switch _, err := c.Write([]byte("x")); {
	case good && err != nil:
		t.Error(err)
	case good:
		expect(t, c, "x")
	default:
		_, _ = io.Copy(io.Discard, c) // until it is reset
	}
}

// echoTLS echoes to clients of TLS.
func echoTLS(ln net.Listener, cfg *tls.Config) {
	for {
		raw, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer raw.Close()
			c, b := tls.Server(raw, cfg), make([]byte, 1)
			for {
				if _, err := c.Read(b); err != nil {
					return
				}
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		}()
	}
}
