package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"testing"
)

// Certificates that would take long are refused before one of them is verified, of clients and of servers.
func TestCostlyCertificates(t *testing.T) {
	small := &ecdsa.PublicKey{Curve: elliptic.P256()}
	rsaOf := func(bits uint, e int) *rsa.PublicKey {
		return &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), bits-1), E: e}
	}
	chain := func(n int, key any) (all []*x509.Certificate) {
		for range n {
			all = append(all, &x509.Certificate{PublicKey: key, DNSNames: []string{"a.test"}})
		}
		return all
	}
	var p peers
	for name, test := range map[string]struct {
		sent         []*x509.Certificate
		costly, dear bool
	}{
		"one":              {chain(1, small), false, false},
		"some":             {chain(4, small), false, false},
		"many":             {chain(10, small), false, true},
		"too many":         {chain(11, small), true, true},
		"RSA":              {chain(2, rsaOf(4096, 65537)), false, false},
		"a large RSA key":  {append(chain(1, small), chain(1, rsaOf(4097, 65537))...), true, false},
		"a large exponent": {chain(1, rsaOf(2048, 1<<31-1)), true, false},
		"a large curve":    {append(chain(1, small), chain(1, &ecdsa.PublicKey{Curve: elliptic.P521()})...), false, true},
	} {
		if Dear(test.sent) != test.dear {
			t.Errorf("%s: dear is %t", name, Dear(test.sent))
		}
		state := tls.ConnectionState{PeerCertificates: test.sent}
		for _, err := range []error{p.clients(x509.NewCertPool())(state), p.servers(x509.NewCertPool(), "a.test")(state)} {
			if err == nil || errors.Is(err, ErrCostly) != test.costly {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
