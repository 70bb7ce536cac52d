// Package certstest issues certificates for tests, into files.
package certstest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"
)

// Authority issues certificates into files of a directory.
type Authority struct {
	Dir string
	// File contains the authority's certificate.
	File string
	// Pool contains it, too.
	Pool *x509.CertPool

	t    testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// New returns a new authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{Dir: t.TempDir(), Pool: x509.NewCertPool(), t: t, key: Key(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:  x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	a.must(err)
	a.cert, err = x509.ParseCertificate(der)
	a.must(err)
	a.Pool.AddCert(a.cert)
	a.File = a.Write("ca.pem", Block("CERTIFICATE", der))
	return a
}

func (a *Authority) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// Key returns an ECDSA key on P-256.
func Key(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Block encodes der in PEM.
func Block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Write replaces a file of the directory by a rename, and returns its path.
func (a *Authority) Write(name string, text []byte) string {
	path := filepath.Join(a.Dir, name)
	a.must(os.WriteFile(path+".new", text, 0o600))
	a.must(os.Rename(path+".new", path))
	return path
}

// Issue writes a certificate chain with its key into the file NAME.pem. Names may be IP addresses and URIs. It expires
// after the given time.
func (a *Authority) Issue(name string, key crypto.Signer, expires time.Duration, names ...string) (path string) {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	a.must(err)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(expires),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if u, err := url.Parse(n); err == nil && u.Scheme != "" {
			template.URIs = append(template.URIs, u)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	a.must(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	a.must(err)
	text := append(Block("CERTIFICATE", der), Block("CERTIFICATE", a.cert.Raw)...)
	return a.Write(name+".pem", append(text, Block("PRIVATE KEY", secret)...))
}

// Pair returns a certificate that Issue has written.
func (a *Authority) Pair(path string) tls.Certificate {
	pair, err := tls.LoadX509KeyPair(path, path)
	a.must(err)
	return pair
}

// Staple writes an OCSP response for a certificate, which is valid for so much longer.
func (a *Authority) Staple(path string, status int, valid time.Duration) string {
	b, err := ocsp.CreateResponse(a.cert, a.cert, ocsp.Response{
		Status: status, SerialNumber: a.Pair(path).Leaf.SerialNumber, ThisUpdate: time.Now().Add(-2 * time.Hour),
		NextUpdate: time.Now().Add(valid), RevokedAt: time.Now().Add(-time.Hour),
	}, a.key)
	a.must(err)
	return a.Write("ocsp", b)
}

// Revoke writes a list of revoked certificates, which is valid for so much longer, into the file NAME.
func (a *Authority) Revoke(name string, valid time.Duration, paths ...string) string {
	template := &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: time.Now().Add(-2 * time.Hour), NextUpdate: time.Now().Add(valid),
	}
	for _, path := range paths {
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: a.Pair(path).Leaf.SerialNumber, RevocationTime: time.Now().Add(-time.Hour),
		})
	}
	der, err := x509.CreateRevocationList(rand.Reader, template, a.cert, a.key)
	a.must(err)
	return a.Write(name, Block("X509 CRL", der))
}
