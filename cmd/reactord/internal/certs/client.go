package certs

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Client holds the files of a backend's TLS settings. It is immutable.
type Client struct {
	fingerprint [sha256.Size]byte
	authorities *x509.CertPool // nil for the system's
	certificate *tls.Certificate
	insecure    bool
	peers       peers
}

// LoadClient reads the files of a backend with read, or from the file system if read is nil. The Client is nil if TLS
// is not enabled, and if a problem is not just a warning.
func LoadClient(c *config.ClientTLS, read Read) (*Client, []Problem) {
	if !c.Enabled {
		return nil, nil
	}
	r, out := newReader(read), &Client{insecure: c.Insecure, peers: peers{names: newSANs(c.SANs, byWildcards)}}
	out.authorities, _ = r.authorities("ca", c.CA)
	out.peers.revoked = r.revocations("crl", c.CRL, c.CA)
	if c.CA == "" && !c.Insecure {
		_, _ = x509.SystemCertPool() // read once for the process, here instead of in the first handshake on a loop
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

// Same reports whether both have the same files and names with the same content. Both may be nil.
func (c *Client) Same(other *Client) bool {
	return c == other || c != nil && other != nil && c.fingerprint == other.fingerprint
}

// Changes describes for people what has changed since was. It is empty if they are the same, or if one of them is
// nil.
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

// Check returns a TLS configuration for health checks: the certificate must have the name, or one of the backend's
// SANs if there are any; without either, it is not verified. Sessions are not resumed, so that each check sees the
// server's certificate. With a nil c, the authorities are the system's and there is no client certificate.
func (c *Client) Check(name string) *tls.Config {
	out := &tls.Config{ServerName: name, InsecureSkipVerify: true} //nolint:gosec // verified by VerifyConnection
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

// sessions limits the TLS sessions with servers that a backend keeps. A session takes about 2 KiB.
const sessions = 1024

// Verification returns the VerifyConnection of crypto/tls for servers with a name, or nil if they are not verified.
func (c *Client) Verification(name string) func(tls.ConnectionState) error {
	if c.insecure {
		return nil
	}
	return c.peers.servers(c.authorities, name)
}

// Config returns the TLS configuration. A connection clones it, and sets its ServerName, the [Client.Verification]
// for that, and its protocols. A handshake locks the session cache twice.
func (c *Client) Config(s *config.ClientTLS) *tls.Config {
	return &tls.Config{
		ServerName:                  s.ServerName,
		InsecureSkipVerify:          true, //nolint:gosec // verified by VerifyConnection
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
