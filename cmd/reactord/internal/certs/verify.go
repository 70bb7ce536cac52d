package certs

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Errors of verification beyond those of crypto/x509, for errors.Is. They are wrapped with details.
var (
	// ErrName means that a certificate lacks the required names, or has a denied one.
	ErrName = errors.New("certificate name not allowed")
	// ErrRevoked means that a certificate was revoked, or that no valid list says otherwise.
	ErrRevoked = errors.New("certificate may be revoked")
	// ErrCostly means that certificates were not verified because that would take too long.
	ErrCostly = errors.New("certificates are too costly to verify")
)

// peers says which certificates of the other side are acceptable, once an authority has issued them.
type peers struct {
	names   sans
	denied  denied
	revoked revoked
}

// Limits of the certificates that a peer sends. crypto/x509 may check each of them against each other: a hundred RSA
// keys of 8192 bits took half a second.
const (
	maxCertificates = 10
	maxRSABits      = 4096
	maxRSAExponent  = 1<<16 + 1
)

// bounded returns an error if a peer's certificates would take too long to verify.
func bounded(sent []*x509.Certificate) error {
	if len(sent) > maxCertificates {
		return fmt.Errorf("%w: there are %d, more than %d", ErrCostly, len(sent), maxCertificates)
	}
	for _, c := range sent {
		if k, ok := c.PublicKey.(*rsa.PublicKey); ok && (k.N.BitLen() > maxRSABits || k.E > maxRSAExponent) {
			return fmt.Errorf("%w: an RSA key of %d bits with the exponent %d, more than %d bits or %d", ErrCostly,
				k.N.BitLen(), k.E, maxRSABits, maxRSAExponent)
		}
	}
	return nil
}

// Dear reports whether certificates within the limits may take more than a millisecond or two to verify, because they
// are many or have keys on large curves.
func Dear(sent []*x509.Certificate) bool {
	return len(sent) > 4 || len(sent) <= maxCertificates && slices.ContainsFunc(sent, func(c *x509.Certificate) bool {
		k, ok := c.PublicKey.(*ecdsa.PublicKey)
		return ok && k.Curve.Params().BitSize > 256
	})
}

// errNoName means that a server is on a unix socket, whose address has no host name.
var errNoName = fmt.Errorf("%w: there is no name to verify it by: set server_name or sans", ErrName)

// servers returns a VerifyConnection for servers. Their certificate needs the name, or one of the names of p if there
// are any. crypto/tls must not verify them itself, because it has no limits.
func (p *peers) servers(authorities *x509.CertPool, name string) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return refused(state, errors.New("the server sent no certificate"))
		}
		err := bounded(state.PeerCertificates)
		switch {
		case err != nil || len(p.names) > 0:
		case name == "":
			err = errNoName
		default:
			err = state.PeerCertificates[0].VerifyHostname(name)
		}
		if err == nil {
			err = p.verify(state, authorities, x509.ExtKeyUsageServerAuth)
		}
		return refused(state, err)
	}
}

// clients returns a VerifyConnection for clients. A client without a certificate passes, unless crypto/tls requires
// one.
func (p *peers) clients(authorities *x509.CertPool) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return nil
		}
		err := bounded(state.PeerCertificates)
		if err == nil {
			err = p.verify(state, authorities, x509.ExtKeyUsageClientAuth)
		}
		return refused(state, err)
	}
}

// verify verifies the chain, the names, and revocation. The chain of a resumed session was verified when the session
// began, and is built again only to check for revocations since.
func (p *peers) verify(state tls.ConnectionState, authorities *x509.CertPool, usage x509.ExtKeyUsage) error {
	leaf := state.PeerCertificates[0]
	var chains [][]*x509.Certificate
	switch {
	case !state.DidResume || p.revoked != nil:
		var err error
		if chains, err = chainsOf(state.PeerCertificates, authorities, usage); err != nil {
			return err
		}
	case time.Now().After(leaf.NotAfter):
		return x509.CertificateInvalidError{Cert: leaf, Reason: x509.Expired}
	}
	if len(p.names) > 0 {
		if err := p.names.verify(leaf); err != nil {
			return err
		}
	}
	if err := p.denied.verify(leaf); err != nil {
		return err
	}
	return p.revoked.check(chains)
}

// chainsOf returns the chains from a peer's certificate to authorities, where nil means the system's.
func chainsOf(sent []*x509.Certificate, authorities *x509.CertPool, usage x509.ExtKeyUsage) (
	[][]*x509.Certificate, error,
) {
	options := x509.VerifyOptions{
		Roots: authorities, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{usage},
	}
	for _, c := range sent[1:] {
		options.Intermediates.AddCert(c)
	}
	return sent[0].Verify(options)
}

// refused returns an error of crypto/tls.
func refused(state tls.ConnectionState, err error) error {
	if err == nil {
		return nil
	}
	return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
}
