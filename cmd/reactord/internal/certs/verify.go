package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
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

// peers is which certificates of the other side are good, beyond what crypto/tls verifies by itself.
type peers struct {
	names   sans
	denied  denied
	revoked revoked
}

// servers has servers verified: those with names have one of these instead of the name that is asked for.
func (p *peers) servers(c *tls.Config, authorities *x509.CertPool) {
	switch {
	case len(p.names) > 0:
		c.InsecureSkipVerify = true // VerifyConnection does it
		c.VerifyConnection = func(state tls.ConnectionState) error {
			chains, err := chainsOf(state.PeerCertificates, authorities)
			if err == nil {
				err = p.verify(state.PeerCertificates[0], chains)
			}
			return refused(state, err)
		}
	case p.revoked != nil && !c.InsecureSkipVerify:
		c.VerifyConnection = p.clients
	}
}

// clients is a check of crypto/tls of what it has verified by itself. A client may have no certificate.
func (p *peers) clients(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return nil
	}
	return refused(state, p.verify(state.PeerCertificates[0], state.VerifiedChains))
}

// any reports whether there is anything to verify.
func (p *peers) any() bool { return len(p.names) > 0 || len(p.denied) > 0 || p.revoked != nil }

func (p *peers) verify(leaf *x509.Certificate, chains [][]*x509.Certificate) error {
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

// chainsOf are the chains from a server's certificate to authorities; nil are those of the system.
func chainsOf(sent []*x509.Certificate, authorities *x509.CertPool) ([][]*x509.Certificate, error) {
	if len(sent) == 0 {
		return nil, errors.New("the server has sent no certificate")
	}
	options := x509.VerifyOptions{Roots: authorities, Intermediates: x509.NewCertPool()}
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
