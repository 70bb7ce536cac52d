package proxy

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
)

// Handshakes succeed while worker threads sign for the proxy: as a server, and as a client of servers that ask for its
// certificate.
func TestTLSWithRSAKeys(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	onEachMode(t, func(t *testing.T, ring reactor.RingKind, mode tlsMode) {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			s := startTLS(t, ring, mode, tlsOptions{
				listener: func(l *config.ServerTLS, ca *certstest.Authority) {
					l.Certificates = []config.Certificate{{Cert: ca.Issue("rsa", key, time.Hour, "proxy.test")}}
				},
				servers: func(b *config.ClientTLS, ca *certstest.Authority) {
					b.Cert = ca.Issue("client", key, time.Hour, "c.test")
				},
			})
			s.client.MaxVersion, s.server.MaxVersion = version, version
			s.server.ClientAuth, s.server.ClientCAs = tls.RequireAndVerifyClientCert, s.ca.Pool
			s.echo()
			for range 8 {
				c := s.dial()
				if err := cmp.Or(shake(c), echoes(c)); err != nil {
					t.Errorf("%s: %v", tls.VersionName(version), err)
				}
			}
		}
	})
}

// Only signatures that take long are worth a worker thread.
func TestOffloadedKeys(t *testing.T) {
	ca := certstest.New(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	rsaPair := ca.Pair(ca.Issue("rsa", key, time.Hour, "proxy.test"))
	ecPair := ca.Pair(ca.Issue("ec", certstest.Key(t), time.Hour, "proxy.test"))
	var s tlsSide
	if k, ok := s.offloadKey(&rsaPair).PrivateKey.(*offloadedKey); !ok || !k.Equal(key) {
		t.Error("the RSA key is not offloaded")
	}
	if _, ok := rsaPair.PrivateKey.(*rsa.PrivateKey); !ok {
		t.Error("the certificate of all connections was changed")
	}
	if s.offloadKey(&ecPair) != &ecPair {
		t.Error("the key on P-256 is offloaded")
	}
}
