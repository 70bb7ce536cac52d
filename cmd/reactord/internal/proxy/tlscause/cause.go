package tlscause

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/clienthello"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/starttls"
)

// Cause is the cause of a failure of TLS.
type Cause uint8

// The causes. The peer is the client or the server of the handshake.
const (
	None            Cause = iota
	NotTLS                // the peer does not speak TLS
	BadHello              // the ClientHello is malformed or too large
	Version               // no common version
	Cipher                // no common cipher suite, key exchange or signature algorithm
	Protocol              // no common protocol (ALPN)
	NoCertificate         // the peer sent no certificate, and needs one
	Untrusted             // its certificate is not from a known authority
	Expired               // its certificate has expired, or is not valid yet
	WrongName             // its certificate has another name
	Revoked               // its certificate was revoked, or its revocation status is unknown
	TooCostly             // its certificates or keys are too many or too large to be verified
	BadCertificate        // its certificate is invalid in another way
	Alert                 // the peer ended the handshake with an alert
	UnknownName           // the peer's alert: it does not know the name (SNI)
	UnknownProtocol       // the peer's alert: it speaks none of the protocols (ALPN)
	Refused               // the server refused TLS, or the client, before TLS began
	Timeout               // the peer took too long
	Closed                // the peer closed or reset the connection
	Violation             // the peer violated the TLS protocol
	causes
)

var names = [causes]string{
	None: "", NotTLS: "not_tls", BadHello: "bad_hello", Version: "version", Cipher: "cipher", Protocol: "alpn",
	NoCertificate: "no_certificate", Untrusted: "untrusted", Expired: "expired", WrongName: "wrong_name",
	Revoked: "revoked", TooCostly: "too_costly", BadCertificate: "bad_certificate", Alert: "alert",
	UnknownName: "alert_unknown_name", UnknownProtocol: "alert_alpn", Refused: "refused", Timeout: "timeout",
	Closed: "closed", Violation: "violation",
}

// String returns the name of the cause in logs, which is "" for None.
func (c Cause) String() string { return names[c] }

// Names returns all names of causes, in the order of the constants.
func Names() []string { return names[1:] }

// Of returns the cause of an error, or None for nil.
func Of(err error) Cause {
	if err == nil {
		return None
	}
	if c := ofCertificate(err); c != None {
		return c
	}
	var notTLS tls.RecordHeaderError
	var operation *net.OpError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout
	case errors.As(err, &operation) && operation.Op == "remote error":
		return ofAlert(operation)
	case errors.As(err, &notTLS), errors.Is(err, clienthello.ErrNotTLS), errors.Is(err, starttls.ErrProtocol):
		return NotTLS
	case errors.Is(err, clienthello.ErrMalformed), errors.Is(err, clienthello.ErrTooLong):
		return BadHello
	case errors.Is(err, starttls.ErrRefused):
		return Refused
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE):
		return Closed
	}
	return ofText(err)
}

// ofCertificate returns the cause of an error of verification, or None for other errors.
func ofCertificate(err error) Cause {
	var unverified *tls.CertificateVerificationError
	var invalid x509.CertificateInvalidError
	var untrusted x509.UnknownAuthorityError
	var otherHost x509.HostnameError
	switch {
	case errors.Is(err, certs.ErrCostly):
		return TooCostly
	case errors.As(err, &untrusted):
		return Untrusted
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Expired
	case errors.As(err, &otherHost), errors.Is(err, certs.ErrName):
		return WrongName
	case errors.Is(err, certs.ErrRevoked):
		return Revoked
	case errors.As(err, &unverified):
		return BadCertificate
	}
	return None
}

// ofAlert returns the cause of an alert of the peer.
func ofAlert(err *net.OpError) Cause {
	switch err.Err.Error() {
	case "tls: unrecognized name":
		return UnknownName
	case "tls: no application protocol":
		return UnknownProtocol
	}
	return Alert
}

// texts has the beginnings of crypto/tls errors that have no type.
var texts = []struct {
	text string
	Cause
}{
	{"tls: client offered only unsupported versions", Version},
	{"tls: server selected unsupported protocol version", Version},
	{"tls: no cipher suite supported by both", Cipher},
	{"tls: no key exchanges supported by both", Cipher},
	{"tls: peer doesn't support any of the certificate's signature algorithms", Cipher},
	{"tls: server chose an unconfigured cipher suite", Cipher},
	{"tls: client requested unsupported application protocols", Protocol},
	{"tls: server selected unadvertised ALPN protocol", Protocol},
	{"tls: client didn't provide a certificate", NoCertificate},
	{"tls: failed to parse client certificate", BadCertificate},
	{"tls: failed to parse certificate from server", BadCertificate},
	{"tls: client certificate contains an unsupported public key", BadCertificate},
	{"tls: server's certificate contains an unsupported type of public key", BadCertificate},
	{"tls: client sent certificate containing RSA key larger", TooCostly},
	{"tls: server sent certificate containing RSA key larger", TooCostly},
}

func ofText(err error) Cause {
	for ; err != nil; err = errors.Unwrap(err) {
		for _, t := range texts {
			if strings.HasPrefix(err.Error(), t.text) {
				return t.Cause
			}
		}
	}
	return Violation
}
