package certs

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Server holds the files of a listener's TLS settings. It is immutable.
type Server struct {
	fingerprint  [sha256.Size]byte
	certificates []*tls.Certificate
	clients      *x509.CertPool // nil without a file of authorities
	clientsSum   [sha256.Size]byte
	clientsAre   peers
	tickets      []Key // from a file; nil for those of the process
}

// LoadServer reads the files of a listener with read, or from the file system if read is nil. The Server is nil
// without certificates, and if a problem is not just a warning.
func LoadServer(s *config.ServerTLS, read Read) (*Server, []Problem) {
	if len(s.Certificates) == 0 {
		return nil, nil
	}
	names, denied := newSANs(s.ClientSANs, literally), newDenied(s.DenySANs)
	r, out := newReader(read), &Server{clientsAre: peers{names: names, denied: denied}}
	for i, c := range s.Certificates {
		at := fmt.Sprintf("certificates[%d].", i)
		pair := r.pair(at, c)
		if pair == nil {
			continue
		}
		if c.OCSP != "" {
			r.staple(at+"ocsp", c.OCSP, pair)
		}
		out.certificates = append(out.certificates, pair)
	}
	out.clients, out.clientsSum = r.authorities("client_ca", s.ClientCA)
	out.clientsAre.revoked = r.revocations("client_crl", s.ClientCRL, s.ClientCA)
	if s.TicketKeys != "" {
		out.tickets = r.ticketKeys("ticket_keys", s.TicketKeys)
	}
	if r.failed() {
		return nil, r.problems
	}
	fmt.Fprintln(r.sum, out.clientsAre.names, out.clientsAre.denied)
	out.fingerprint = r.fingerprint()
	return out, r.problems
}

// Same reports whether both have the same files and names with the same content. Both may be nil.
func (s *Server) Same(other *Server) bool {
	return s == other || s != nil && other != nil && s.fingerprint == other.fingerprint
}

// Fingerprint returns a value that is equal for the same Servers. s must not be nil.
func (s *Server) Fingerprint() [sha256.Size]byte { return s.fingerprint }

// Changes describes for people what has changed since was. It is empty if they are the same, or if one of them is
// nil.
func (s *Server) Changes(was *Server) string {
	if s == nil || was == nil || s.Same(was) {
		return ""
	}
	return changes(was.certificates, s.certificates)
}

// Expiry has the time when a certificate expires.
type Expiry struct {
	Name  string // the first name of the certificate
	Index int    // index in the settings
	At    time.Time
}

// Expiries returns when the certificates expire. s may be nil.
func (s *Server) Expiries() (all []Expiry) {
	if s == nil {
		return nil
	}
	for i, c := range s.certificates {
		e := Expiry{Index: i, At: c.Leaf.NotAfter}
		if names := NamesOf(c); len(names) > 0 {
			e.Name = names[0]
		}
		all = append(all, e)
	}
	return all
}

// clientAuths maps the setting to crypto/tls. The certificates are verified by [peers.clients].
var clientAuths = map[config.ClientAuth]tls.ClientAuthType{
	config.RequestClientAuth: tls.RequestClientCert, config.RequireClientAuth: tls.RequireAnyClientCert,
}

// Config returns the TLS configuration. The caller sets the ticket keys with [Tickets.Serve].
func (s *Server) Config(c *config.ServerTLS) *tls.Config {
	out := &tls.Config{
		GetCertificate:         newNames(s.certificates).choose,
		MinVersion:             versions[c.MinVersion],
		MaxVersion:             versions[c.MaxVersion],
		CipherSuites:           suites(c.Ciphers),
		CurvePreferences:       exchanges(c.Curves),
		NextProtos:             c.ALPN,
		ClientAuth:             clientAuths[c.ClientAuth],
		ClientCAs:              s.clients,
		SessionTicketsDisabled: !c.Tickets,
	}
	if out.ClientAuth != tls.NoClientCert {
		out.VerifyConnection = s.clientsAre.clients(s.clients)
	}
	return out
}
