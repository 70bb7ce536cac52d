package proxy

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"net"
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

// A cipher suite without forward secrecy makes the server decrypt with its key.
func TestTLSWithRSADecryption(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := startTLS(t, ring, tlsMode{front: true}, tlsOptions{
			listener: func(l *config.ServerTLS, ca *certstest.Authority) {
				l.Certificates = []config.Certificate{{Cert: ca.Issue("rsa", key, time.Hour, "proxy.test")}}
				l.Ciphers = []string{"TLS_RSA_WITH_AES_128_GCM_SHA256"}
			},
		})
		s.client.MaxVersion, s.client.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}
		s.echo()
		c := s.dial()
		if err := cmp.Or(shake(c), echoes(c)); err != nil {
			t.Error(err)
		}
		if got := c.(*tls.Conn).ConnectionState().CipherSuite; got != tls.TLS_RSA_WITH_AES_128_GCM_SHA256 {
			t.Errorf("cipher suite %s", tls.CipherSuiteName(got))
		}
	})
}

// Of many handshakes that wait for the worker thread, those of one source leave it to those of others in between. Many
// end while they wait or while a signature is made, and nothing of them is left.
func TestFloodOfSignatures(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := startTLS(t, ring, tlsMode{front: true}, tlsOptions{loops: 1,
			listener: func(l *config.ServerTLS, ca *certstest.Authority) {
				l.Certificates = []config.Certificate{{Cert: ca.Issue("rsa", key, time.Hour, "proxy.test")}}
			},
		})
		s.echo()
		const flood = 300
		var crooks []net.Conn
		hello := firstFlight(s.client)
		for range flood {
			c := s.dialRaw()
			_, _ = c.Write(hello)
			crooks = append(crooks, c)
		}
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
		own, err := d.Dial("tcp", s.p.Addrs()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		c := tls.Client(own, s.client)
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		go func() { // some end at once, and some later
			for i, c := range crooks {
				if resetConn(c); i%8 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		}()
		if err := cmp.Or(c.Handshake(), echoes(c)); err != nil {
			t.Error(err)
		}
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			idle := false
			s.p.on(func(w *worker) {
				idle = w.handshakeJobs.running == 0 && w.handshakeJobs.waiting.empty() && w.handshakeSteps.waiting.empty()
			})
			if idle && s.p.Open() == 1 {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d connections are open, idle: %t", s.p.Open(), idle)
			}
		}
	})
}

// firstFlight returns what a client sends first.
func firstFlight(cfg *tls.Config) []byte {
	own, peer := net.Pipe()
	defer own.Close()
	c := tls.Client(peer, cfg)
	go func() {
		_ = c.Handshake()
		_ = peer.Close()
	}()
	b := make([]byte, 16<<10)
	n, _ := own.Read(b)
	return b[:n]
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
