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

// Errors of verification beyond those of crypto/x509, to be matched by errors.Is. They come with what is wrong.
var (
	// ErrName says that a certificate has not one of the names that are required, or one that is denied.
	ErrName = errors.New("the name of the certificate is not allowed")
	// ErrRevoked says that a certificate was revoked, or that no valid list says that it was not.
	ErrRevoked = errors.New("the certificate may be revoked")
	// ErrCostly says that certificates were not verified, because that would take too long.
	ErrCostly = errors.New("the certificates are too costly to verify")
)

// peers is which certificates of the other side are good, beside that they are of an authority.
type peers struct {
	names   sans
	denied  denied
	revoked revoked
}

// Bounds of the certificates that a peer sends. crypto/x509 may check each of them against each other: a hundred RSA
// keys of 8192 bits took half a second.
const (
	maxCertificates = 10
	maxRSABits      = 4096
	maxRSAExponent  = 1<<16 + 1
)

// bounded returns an error if a peer sends certificates that would take too long to verify.
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

// Dear reports whether certificates within the bounds may take more than a millisecond or two to verify: if there are
// many of them, or their keys are on large curves.
func Dear(sent []*x509.Certificate) bool {
	return len(sent) > 4 || len(sent) <= maxCertificates && slices.ContainsFunc(sent, func(c *x509.Certificate) bool {
		k, ok := c.PublicKey.(*ecdsa.PublicKey)
		return ok && k.Curve.Params().BitSize > 256
	})
}

// servers returns the verification of servers, as VerifyConnection of crypto/tls. They need the name, or one of the
// names of p if there are any. crypto/tls itself does not verify then, because it has no bounds.
func (p *peers) servers(authorities *x509.CertPool, name string) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return refused(state, errors.New("the server has sent no certificate"))
		}
		err := bounded(state.PeerCertificates)
		if err == nil && len(p.names) == 0 {
			err = state.PeerCertificates[0].VerifyHostname(name)
		}
		if err == nil {
			err = p.verify(state, authorities, x509.ExtKeyUsageServerAuth)
		}
		return refused(state, err)
	}
}

// clients returns the verification of clients. A client may have no certificate, unless crypto/tls requires one.
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

// verify verifies the chain, the names, and that nothing was revoked. The chain of a session that is resumed was
// verified when the session began: it is found again only to see whether something was revoked since.
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

// chainsOf returns the chains from a peer's certificate to authorities; nil are those of the system.
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

// refused is an error of crypto/tls.
func refused(state tls.ConnectionState, err error) error {
	if err == nil {
		return nil
	}
	return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
}
