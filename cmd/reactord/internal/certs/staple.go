package certs

import (
	"crypto/tls"
	"crypto/x509"
	"time"

	"golang.org/x/crypto/ocsp"
)

// staple reads an OCSP response and staples it to its certificate.
func (r *reader) staple(key, path string, pair *tls.Certificate) {
	b, ok := r.file(key, path)
	if !ok {
		return
	}
	var issuer *x509.Certificate // next one of the chain
	if len(pair.Certificate) > 1 {
		issuer, _ = x509.ParseCertificate(pair.Certificate[1])
	}
	response, err := ocsp.ParseResponseForCert(b, pair.Leaf, issuer)
	switch {
	case err != nil:
		r.wrong(key, err, "%s: %v: write a file with an OCSP response in DER for this certificate", path, err)
	case response.Status == ocsp.Revoked:
		r.wrong(key, nil, "%s says that the certificate was revoked on %s", path, response.RevokedAt.Format(time.DateTime))
	case response.Status != ocsp.Good:
		r.wrong(key, nil, "%s says that the certificate is unknown to its authority", path)
	case !response.NextUpdate.IsZero() && r.now.After(response.NextUpdate):
		r.warn(key, "the OCSP response in %s expired on %s and is not stapled", path,
			response.NextUpdate.Format(time.DateTime))
	default:
		pair.OCSPStaple = b
	}
}
