package proxy

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
)

// protocols returns so many protocols of a length.
func protocols(n, length int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%0*d", length, i%10))
	}
	return all
}

// helloOf returns the ClientHello that crypto/tls sends with a configuration.
func helloOf(t *testing.T, cfg *tls.Config) []byte {
	t.Helper()
	a, b := net.Pipe()
	go func() {
		_ = tls.Client(a, cfg).Handshake()
		a.Close()
	}()
	var all bytes.Buffer
	b.SetReadDeadline(time.Now().Add(20 * time.Second))
	header := make([]byte, 5)
	for all.Len() == 0 || all.Len() < 4+helloLen(all.Bytes()) {
		if _, err := io.ReadFull(b, header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(&all, b, int64(header[3])<<8|int64(header[4])); err != nil {
			t.Fatal(err)
		}
	}
	b.Close()
	var out []byte
	for m := all.Bytes(); len(m) != 0; {
		n := min(len(m), 16<<10)
		out = append(append(out, 22, 3, 1, byte(n>>8), byte(n)), m[:n]...)
		m = m[n:]
	}
	return out
}

func helloLen(b []byte) int { return int(b[1])<<16 | int(b[2])<<8 | int(b[3]) }

// A ClientHello is bounded as a whole, and in what is kept of it.
func TestClientHelloIsBounded(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := startTLS(t, ring, tlsMode{front: true}, tlsOptions{loops: 1})
		s.echo()
		for name, test := range map[string]struct {
			protocols []string
			server    string
			ok        bool
		}{
			"many protocols":     {protocols(32000, 1), "proxy.test", false},
			"too many protocols": {protocols(65, 1), "proxy.test", false},
			"most protocols":     {protocols(64, 1), "proxy.test", true},
			"long protocols":     {protocols(64, 230), "proxy.test", true},
			"too long":           {protocols(64, 255), "proxy.test", false},
			"a long name":        {nil, strings.Repeat("a", 256), false},
		} {
			cfg := &tls.Config{InsecureSkipVerify: true, ServerName: test.server, NextProtos: test.protocols}
			if _, err := s.visit(cfg); (err == nil) != test.ok {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// What a client holds is bounded while its handshake is not done, and after it.
func TestClientsHoldLittle(t *testing.T) {
	const (
		clients = 200
		most    = 64 << 10 // bytes of memory, with what the client's end holds in this process
	)
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := startTLS(t, ring, tlsMode{front: true}, tlsOptions{loops: 1})
		go func() {
			for {
				c, err := s.ln.Accept()
				if err != nil {
					return
				}
				t.Cleanup(func() { c.Close() })
			}
		}()
		cfg := &tls.Config{InsecureSkipVerify: true, ServerName: "proxy.test", NextProtos: protocols(64, 230)}
		hello := helloOf(t, cfg)
		for name, begin := range map[string]func(*net.TCPConn) error{
			"before": func(c *net.TCPConn) error {
				_, err := c.Write(hello[:len(hello)-1])
				return err
			},
			"after": func(c *net.TCPConn) error { return tls.Client(c, cfg).Handshake() },
		} {
			before := memoryNow()
			var all []*net.TCPConn
			for range clients {
				c := s.dialRaw()
				if err := begin(c); err != nil {
					t.Fatal(err)
				}
				all = append(all, c)
			}
			waitFor(t, "the handshakes are done, or have begun", func() bool { return s.p.Open() == clients })
			if n := (int64(memoryNow()) - int64(before)) / clients; n > most {
				t.Errorf("%s: %d bytes a client, want %d at most", name, n, most)
			} else {
				t.Logf("%s: %d bytes a client", name, n)
			}
			for _, c := range all {
				c.Close()
			}
			waitFor(t, "the clients are gone", func() bool { return s.p.Open() == 0 })
		}
	})
}

// issueOn issues a certificate whose key is on a curve.
func issueOn(t *testing.T, ca *certstest.Authority, curve elliptic.Curve, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return ca.Pair(ca.Issue("on a curve", key, time.Hour, name))
}

// Certificates are verified, on the loop or on a worker thread, of clients and of servers, and their number is bounded.
func TestCertificatesAreBounded(t *testing.T) {
	onEachMode(t, func(t *testing.T, ring reactor.RingKind, mode tlsMode) {
		for _, test := range []struct {
			curve elliptic.Curve
			extra int // certificates behind the chain
			known bool
			ok    bool
		}{
			{elliptic.P256(), 0, true, true}, {elliptic.P521(), 0, true, true}, {elliptic.P521(), 0, false, false},
			{elliptic.P521(), 8, true, true}, {elliptic.P256(), 9, true, false}, {elliptic.P256(), 120, true, false},
		} {
			s := startTLS(t, ring, mode, tlsOptions{loops: 1,
				listener: func(l *config.ServerTLS, ca *certstest.Authority) { l.ClientAuth, l.ClientCA = "require", ca.File },
				backend:  Backend{Set: func(b *config.Backend) { b.TLS.ServerName = "s.test" }},
			})
			ca := s.ca
			if !test.known {
				ca = certstest.New(t)
			}
			pair := issueOn(t, ca, test.curve, "s.test")
			for range test.extra {
				pair.Certificate = append(pair.Certificate, pair.Certificate[len(pair.Certificate)-1])
			}
			honest := issueOn(t, s.ca, elliptic.P256(), "s.test")
			shown := honest
			if mode.front {
				shown = pair
			} else {
				s.server.Certificates[0] = pair
			}
			if mode.back && mode.front {
				s.server.Certificates[0] = honest
			}
			s.client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown, nil }
			s.echo()
			c, err := s.tryDial()
			if err == nil {
				err = shake(c)
			}
			if err == nil {
				err = echoes(c)
			}
			if (err == nil) != test.ok {
				t.Errorf("%s, %d extra, known %t: %v", test.curve.Params().Name, test.extra, test.known, err)
			}
		}
	})
}
