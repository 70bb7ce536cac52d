package certs

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// revoked holds certificate revocation lists by issuer. nil disables the check.
type revoked map[string]*revocations

// revocations is the list of an authority.
type revocations struct {
	until   time.Time // time of the next update
	serials map[string]bool
}

// revocations reads a file of lists, each signed by an authority of another file.
func (r *reader) revocations(key, path, authorities string) revoked {
	if path == "" {
		return nil
	}
	text, ok := r.file(key, path)
	if !ok {
		return nil
	}
	signers, err := r.read(authorities)
	if err != nil {
		r.wrong(key, err, "%v", err)
		return nil
	}
	all := revoked{}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "X509 CRL" {
			continue
		}
		if err := all.add(block.Bytes, certificates(signers)); err != nil {
			r.wrong(key, err, "%s: %v", path, err)
			return nil
		}
	}
	if len(all) == 0 {
		r.wrong(key, nil, "%s has no certificate revocation list in PEM", path)
		return nil
	}
	for _, list := range all {
		if r.now.After(list.until) {
			r.warn(key, "a certificate revocation list in %s expired on %s: certificates of its authority are refused",
				path,
				list.until.Format(time.DateTime))
		}
	}
	return all
}

// certificates returns the readable certificates of a PEM file.
func certificates(text []byte) (all []*x509.Certificate) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			all = append(all, c)
		}
	}
	return all
}

// add adds a list in DER. Of two lists of an authority, the later one counts.
func (all revoked) add(der []byte, signers []*x509.Certificate) error {
	list, err := x509.ParseRevocationList(der)
	if err != nil {
		return err
	}
	err = errors.New("a certificate revocation list is not signed by one of the authorities")
	for _, signer := range signers {
		if string(signer.RawSubject) == string(list.RawIssuer) {
			err = list.CheckSignatureFrom(signer)
		}
		if err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	made := &revocations{until: list.NextUpdate, serials: make(map[string]bool, len(list.RevokedCertificateEntries))}
	for _, c := range list.RevokedCertificateEntries {
		made.serials[c.SerialNumber.String()] = true
	}
	if was := all[string(list.RawIssuer)]; was == nil || was.until.Before(made.until) {
		all[string(list.RawIssuer)] = made
	}
	return nil
}

// check returns an error unless all certificates of one of the chains are good: each issuer has a valid list, and it
// does not contain the certificate.
func (all revoked) check(chains [][]*x509.Certificate) error {
	if all == nil {
		return nil
	}
	err := errors.New("no verified chain of certificates")
	for _, chain := range chains {
		if err = all.checkChain(chain); err == nil {
			return nil
		}
	}
	return err
}

func (all revoked) checkChain(chain []*x509.Certificate) error {
	for _, c := range chain {
		switch list := all[string(c.RawIssuer)]; {
		case list == nil:
			return fmt.Errorf("%w: no certificate revocation list of %s", ErrRevoked, c.Issuer)
		case !list.until.IsZero() && time.Now().After(list.until):
			return fmt.Errorf("%w: the certificate revocation list of %s expired on %s", ErrRevoked, c.Issuer,
				list.until.Format(time.DateTime))
		case list.serials[c.SerialNumber.String()]:
			return fmt.Errorf("%w: %s of %s was revoked", ErrRevoked, c.SerialNumber, c.Issuer)
		}
	}
	return nil
}
