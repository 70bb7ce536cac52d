package xds

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, pool: x509.NewCertPool()}
	template := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, key := a.sign(template, "authority")
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, a.key = cert, key
	a.pool.AddCert(cert)
	return a
}

// sign signs a certificate, its own if it is the first.
func (a *authority) sign(template *x509.Certificate, name string) (der []byte, key *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.Subject = pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = template, key
	}
	if der, err = x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by); err != nil {
		a.t.Fatal(err)
	}
	return der, key
}

// pair is a certificate of a name for both sides of TLS, for 127.0.0.1.
func (a *authority) pair(name string) tls.Certificate {
	a.t.Helper()
	der, key := a.sign(&x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, name)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// files writes what a daemon needs to be known by a name, as tools do: a new file that takes the place of the old one.
func (a *authority) files(dir, name, token string) {
	a.t.Helper()
	pair := a.pair(name)
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, content := range map[string][]byte{
		"ca":    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}),
		"cert":  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		"key":   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"token": []byte(token + "\n"),
	} {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path+".new", content, 0o600); err != nil {
			a.t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			a.t.Fatal(err)
		}
	}
}

// The daemon proves who it is, by a certificate and a token, and verifies the control plane. Both are replaced, and the
// authority as well: the next stream has the new ones.
func TestIdentity(t *testing.T) {
	var mu sync.Mutex
	var names []string
	by := newAuthority(t)
	certificate := by.pair("plane")
	settings := &tls.Config{
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			mu.Lock()
			defer mu.Unlock()
			return &tls.Config{
				Certificates: []tls.Certificate{certificate}, ClientCAs: by.pool, NextProtos: []string{"h2"},
				ClientAuth: tls.RequireAndVerifyClientCert,
			}, nil
		},
	}
	plane := newControlPlane(t, grpc.Creds(credentials.NewTLS(settings)), grpc.StreamInterceptor(
		func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			mu.Lock()
			names = append(names, identity(stream.Context()))
			mu.Unlock()
			return next(srv, stream)
		}))
	one, two := newServer(t, "one"), newServer(t, "two")
	addr, dir := vacant(t), t.TempDir()
	by.files(dir, "first", "secret")
	plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", one.addr))
	start(t, "epoll", []string{"https://" + plane.addr}, "tls: {ca: "+dir+"/ca, cert: "+dir+"/cert, key: "+dir+"/key}",
		"token_file: "+dir+"/token")
	first := awaitServer(t, addr, "one")

	latest := func(want string) {
		t.Helper()
		eventually(t, "a stream of "+want, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return names[len(names)-1] == want
		})
	}
	latest("first Bearer secret")
	by.files(dir, "second", "new secret")
	plane.setFaults(faults{})
	latest("second Bearer new secret")
	works(t, first)

	other := newAuthority(t)
	mu.Lock()
	by, certificate = other, other.pair("plane")
	mu.Unlock()
	plane.kill()
	other.files(dir, "third", "newest")
	plane.start()
	plane.set(listener(t, "l", addr, "c"), cluster("c"), assignment(t, "c", two.addr, one.addr))
	latest("third Bearer newest")
	works(t, first, awaitServer(t, addr, "two"))
}

// identity is what a stream's client says that it is.
func identity(ctx context.Context) string {
	who := "unknown"
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.PeerCertificates) > 0 {
			who = info.State.PeerCertificates[0].Subject.CommonName
		}
	}
	for _, token := range metadata.ValueFromIncomingContext(ctx, "authorization") {
		who += " " + token
	}
	return who
}
