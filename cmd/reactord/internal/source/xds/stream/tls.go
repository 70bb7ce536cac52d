package stream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// PEM is PEM text of certificates or a key: in a file, or inline.
type PEM struct {
	File string
	Text []byte // inline, instead of a file
}

// maxPEM limits a file of certificates, in bytes.
const maxPEM = 4 << 20

// IsZero reports whether p is unset.
func (p PEM) IsZero() bool { return p.File == "" && len(p.Text) == 0 }

func (p PEM) read() ([]byte, error) {
	if p.File == "" {
		return p.Text, nil
	}
	f, err := os.Open(p.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPEM+1))
	if err == nil && len(text) > maxPEM {
		err = fmt.Errorf("%s: larger than %d bytes", p.File, maxPEM)
	}
	return text, err
}

// place names the text for people.
func (p PEM) place() string {
	if p.File == "" {
		return "inline text"
	}
	return p.File
}

// TLS holds TLS settings whose files are read again for each stream. [TLS.Config] fits [Server].
type TLS struct {
	// CA has the trusted authorities. Zero means the system's.
	CA PEM
	// Cert and Key are the client certificate chain and its key, for servers that request one.
	Cert, Key PEM
	// ServerName is the name to request and to verify. Empty means the host of the address.
	ServerName string
	// Names replaces ServerName in the verification: the server's certificate must match one of them.
	Names []Name
	// AnyName accepts any name if there are no Names: only the authority is verified.
	AnyName bool
	// Insecure accepts every certificate.
	Insecure bool
	// MinVersion and MaxVersion are as in [tls.Config].
	MinVersion, MaxVersion uint16
}

// Name matches a name of a certificate.
type Name struct {
	Kind   Kind
	How    How
	Text   string
	Fold   bool           // ignore case; not for Regexp
	Regexp *regexp.Regexp // for Regexp, from [FullRegexp]
}

// Kind is a kind of names of certificates.
type Kind uint8

// Kinds of names.
const (
	AnyKind Kind = iota
	DNS
	URI
	Email
	IP
)

// How is the way in which a [Name] matches.
type How uint8

// Ways to match.
const (
	Exact How = iota
	Prefix
	Suffix
	Contains
	Regexp
)

// FullRegexp compiles an expression that must match a whole name.
func FullRegexp(text string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(text); err != nil { // or unbalanced parentheses would pass
		return nil, err
	}
	return regexp.Compile(`\A(?:` + text + `)\z`)
}

// Config reads the files, and returns the configuration.
func (t *TLS) Config() (*tls.Config, error) {
	c := &tls.Config{ServerName: t.ServerName, MinVersion: max(t.MinVersion, tls.VersionTLS12), MaxVersion: t.MaxVersion}
	if !t.CA.IsZero() {
		text, err := t.CA.read()
		if err != nil {
			return nil, fmt.Errorf("authorities: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("authorities: %s: no certificate in PEM form", t.CA.place())
		}
	}
	if !t.Cert.IsZero() {
		pair, err := t.pair()
		if err != nil {
			return nil, fmt.Errorf("certificate: %s: %w", t.Cert.place(), err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	switch {
	case t.Insecure:
		c.InsecureSkipVerify = true //nolint:gosec // as configured
	case t.AnyName || len(t.Names) > 0:
		c.InsecureSkipVerify = true //nolint:gosec // verified by VerifyConnection
		roots, names := c.RootCAs, t.Names
		c.VerifyConnection = func(s tls.ConnectionState) error { return verify(&s, roots, names) }
	}
	return c, nil
}

func (t *TLS) pair() (tls.Certificate, error) {
	cert, err := t.Cert.read()
	if err != nil {
		return tls.Certificate{}, err
	}
	key := cert
	if !t.Key.IsZero() {
		if key, err = t.Key.read(); err != nil {
			return tls.Certificate{}, err
		}
	}
	return tls.X509KeyPair(cert, key)
}

// verify verifies the chain, and the names if there are any.
func verify(s *tls.ConnectionState, roots *x509.CertPool, names []Name) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the server has no certificate")
	}
	leaf := s.PeerCertificates[0]
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between}); err != nil {
		return err
	}
	if len(names) == 0 || slices.ContainsFunc(names, func(n Name) bool { return n.of(leaf) }) {
		return nil
	}
	return fmt.Errorf("the server's certificate matches none of the expected names: it is for %s", clean(namesOf(leaf)))
}

// of reports whether a certificate has a matching name.
func (n *Name) of(c *x509.Certificate) bool {
	every := n.Kind == AnyKind
	if (every || n.Kind == DNS) && slices.ContainsFunc(c.DNSNames, n.matchesDNS) ||
		(every || n.Kind == Email) && slices.ContainsFunc(c.EmailAddresses, n.matches) {
		return true
	}
	if every || n.Kind == URI {
		for _, u := range c.URIs {
			if n.matches(u.String()) {
				return true
			}
		}
	}
	if every || n.Kind == IP {
		for _, ip := range c.IPAddresses {
			if n.matches(ip.String()) {
				return true
			}
		}
	}
	return false
}

// matchesDNS also lets a wildcard of the certificate match an exact name, ignoring case.
func (n *Name) matchesDNS(name string) bool {
	if n.How != Exact {
		return n.matches(name)
	}
	if rest, wild := strings.CutPrefix(name, "*."); wild {
		_, parent, found := strings.Cut(n.Text, ".")
		return found && strings.EqualFold(parent, rest)
	}
	return strings.EqualFold(name, n.Text)
}

func (n *Name) matches(name string) bool {
	text := n.Text
	if n.How == Regexp {
		return n.Regexp.MatchString(name)
	}
	if n.Fold {
		name, text = strings.ToLower(name), strings.ToLower(text)
	}
	switch n.How {
	case Prefix:
		return strings.HasPrefix(name, text)
	case Suffix:
		return strings.HasSuffix(name, text)
	case Contains:
		return strings.Contains(name, text)
	}
	return name == text
}

// namesOf lists the names of a certificate for people.
func namesOf(c *x509.Certificate) string {
	all := slices.Concat(c.DNSNames, c.EmailAddresses)
	for _, u := range c.URIs {
		all = append(all, u.String())
	}
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return "no name"
	}
	return strings.Join(all, ", ")
}
