package engine

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/reactor"
)

// echoOverTLS runs an echo server over TLS, and returns its URL and its authority.
func echoOverTLS(t *testing.T) (url string, trust *x509.CertPool) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS() // for its certificate
	certificate := s.TLS.Certificates[0]
	trust = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	s.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go accept(l, echoing)
	return "tls://" + l.Addr().String(), trust
}

// Every mode works with TLS.
func TestTLS(t *testing.T) {
	url, trust := echoOverTLS(t)
	rings(t, func(t *testing.T, ring reactor.RingKind) {
		size, err := ParseSizes("1-40000")
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []Mode{&Echo{Depth: 5, Size: size}, &Connect{Close: "rst", Size: 100}, &HalfClose{},
			&Stream{Direction: "both"}} {
			g := load(t, url, mode, func(c *Config) {
				c.Ring, c.TLS = ring, &tls.Config{RootCAs: trust, ServerName: "127.0.0.1"}
			})
			_, w := runUntil(t, g, Phase{Time: short}, func(w *record.Window) bool { return w.Verified > 0 })
			faultless(t, w)
			if w.Messages == 0 || w.Verified == 0 || w.BytesOut == 0 {
				t.Errorf("%T: %d messages, %d bytes verified", mode, w.Messages, w.Verified)
			}
		}
		g := load(t, url, &Echo{}, func(c *Config) {
			c.Ring, c.TLS, c.GiveUp = ring, &tls.Config{ServerName: "127.0.0.1"}, short // no certificate is trusted
		})
		span, err := g.Open(t.Context(), nil)
		if !errors.Is(err, ErrNoProgress) {
			t.Errorf("a certificate that is not trusted: %v", err)
		}
		only(t, span.Windows[0], record.Handshake)
	})
}

// With a cache of sessions every connection except the first ones resumes one, also after a reset.
func TestTLSResumption(t *testing.T) {
	url, trust := echoOverTLS(t)
	for _, resume := range []bool{true, false} {
		g := load(t, url, &Connect{Close: "rst", Size: 128}, func(c *Config) {
			c.TLS = &tls.Config{RootCAs: trust, ServerName: "127.0.0.1"}
			if resume {
				c.TLS.ClientSessionCache = tls.NewLRUClientSessionCache(0)
			}
		})
		_, w := runUntil(t, g, Phase{Time: short}, func(w *record.Window) bool { return w.Messages > 8 })
		faultless(t, w)
		want := int64(0)
		if resume {
			want = w.Opened - 4 // the first connection of each of the four
		}
		if w.Resumed < want || w.Resumed > 0 && !resume {
			t.Errorf("%d of %d connections resumed a session, want %d", w.Resumed, w.Opened, want)
		}
	}
}
