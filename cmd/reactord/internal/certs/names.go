package certs

import (
	"crypto/tls"
	"strings"
)

// names finds the certificate for a server name. It is immutable.
type names struct {
	all    []*tls.Certificate
	byName map[string][]*tls.Certificate // in lower case; "*.example.org" matches one label
}

func newNames(all []*tls.Certificate) *names {
	n := &names{all: all, byName: map[string][]*tls.Certificate{}}
	for _, c := range all {
		for _, name := range NamesOf(c) {
			name = strings.ToLower(name)
			n.byName[name] = append(n.byName[name], c)
		}
	}
	return n
}

// NamesOf returns the names of a certificate: those of its extension, or else its common name.
func NamesOf(c *tls.Certificate) []string {
	if c.Leaf == nil {
		return nil
	}
	if len(c.Leaf.DNSNames) == 0 && c.Leaf.Subject.CommonName != "" {
		return []string{c.Leaf.Subject.CommonName}
	}
	return c.Leaf.DNSNames
}

// choose returns the certificate for a ClientHello. It considers those with its name, or else with a matching
// wildcard, or else all, and takes the first one whose key type the client supports, or else the first one.
func (n *names) choose(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	found := n.byName[name]
	if len(found) == 0 {
		if _, parent, ok := strings.Cut(name, "."); ok {
			found = n.byName["*."+parent]
		}
	}
	if len(found) == 0 {
		found = n.all
		unnamed := *hello
		unnamed.ServerName = "" // or SupportsCertificate would require it
		hello = &unnamed
	}
	for _, c := range found {
		if len(found) == 1 || hello.SupportsCertificate(c) == nil {
			return c, nil
		}
	}
	return found[0], nil
}
