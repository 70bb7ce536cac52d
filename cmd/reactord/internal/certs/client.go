package certs

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Client is what the files of a backend's TLS settings hold. It does not change.
type Client struct {
	fingerprint [sha256.Size]byte
	authorities *x509.CertPool // nil: the system's
	certificate *tls.Certificate
	insecure    bool
	peers       peers
}

// LoadClient reads the files of a backend with read; nil: from the file system. If its TLS is not enabled there is
// nothing to read, and the Client is nil. It is nil as well if there is a problem that is no warning.
func LoadClient(c *config.ClientTLS, read Read) (*Client, []Problem) {
	if !c.Enabled {
		return nil, nil
	}
	r, out := newReader(read), &Client{insecure: c.Insecure, peers: peers{names: newSANs(c.SANs, byWildcards)}}
	out.authorities, _ = r.authorities("ca", c.CA)
	out.peers.revoked = r.revocations("crl", c.CRL, c.CA)
	if c.CA == "" && !c.Insecure {
		_, _ = x509.SystemCertPool() // read once for the process: here, and not by the first handshake, on a loop
	}
	if c.Cert != "" {
		out.certificate = r.pair("", config.Certificate{Cert: c.Cert, Key: c.Key, KeyPasswordFile: c.KeyPasswordFile})
	}
	if r.failed() {
		return nil, r.problems
	}
	fmt.Fprintln(r.sum, out.peers.names)
	out.fingerprint = r.fingerprint()
	return out, r.problems
}

// Same reports whether both are of the same settings of files and names, with the same content. Both may be nil.
func (c *Client) Same(other *Client) bool {
	return c == other || c != nil && other != nil && c.fingerprint == other.fingerprint
}

// Changes tells people what has changed since was. It is empty if they are the same, or if one of them is nil.
func (c *Client) Changes(was *Client) string {
	if c == nil || was == nil || c.Same(was) {
		return ""
	}
	return changes(was.certificates(), c.certificates())
}

func (c *Client) certificates() []*tls.Certificate {
	if c.certificate == nil {
		return nil
	}
	return []*tls.Certificate{c.certificate}
}

// Check makes the configuration of crypto/tls for a health check: the certificate must have the name, or one of the
// backend's SANs if there are any; without both, it is not verified. Sessions are not resumed, so each check sees the
// server's certificate. c may be nil: then the authorities are the system's, and the check has no certificate.
func (c *Client) Check(name string) *tls.Config {
	out := &tls.Config{ServerName: name, InsecureSkipVerify: true} //nolint:gosec // VerifyConnection does it
	if c == nil {
		c = &Client{}
	}
	out.Certificates = c.pairs()
	if name != "" || len(c.peers.names) > 0 {
		out.VerifyConnection = c.peers.servers(c.authorities, name)
	}
	return out
}

func (c *Client) pairs() []tls.Certificate {
	if c.certificate == nil {
		return nil
	}
	return []tls.Certificate{*c.certificate}
}

// sessions is how many sessions with servers a backend keeps. A session has about 2 KiB.
const sessions = 1024

// Verification returns what VerifyConnection of crypto/tls is for servers with a name; nil if they are not verified.
func (c *Client) Verification(name string) func(tls.ConnectionState) error {
	if c.insecure {
		return nil
	}
	return c.peers.servers(c.authorities, name)
}

// Config makes the configuration of crypto/tls. A connection has a copy with its ServerName, the [Client.Verification]
// for that, and its protocols. The cache of sessions has a lock, which a handshake takes twice.
func (c *Client) Config(s *config.ClientTLS) *tls.Config {
	return &tls.Config{
		ServerName:                  s.ServerName,
		InsecureSkipVerify:          true, //nolint:gosec // VerifyConnection does it
		VerifyConnection:            c.Verification(s.ServerName),
		MinVersion:                  versions[s.MinVersion],
		MaxVersion:                  versions[s.MaxVersion],
		CipherSuites:                suites(s.Ciphers),
		CurvePreferences:            exchanges(s.Curves),
		NextProtos:                  s.ALPN,
		ClientSessionCache:          tls.NewLRUClientSessionCache(sessions),
		DynamicRecordSizingDisabled: true,
		Certificates:                c.pairs(),
	}
}
