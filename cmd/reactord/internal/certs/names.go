package certs

import (
	"crypto/tls"
	"strings"
)

// names finds the certificate for a name. It does not change.
type names struct {
	all    []*tls.Certificate
	byName map[string][]*tls.Certificate // in lower case; "*.example.org" is every name one label below
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

// NamesOf are the names of a certificate: those of its extension, or else its common name.
func NamesOf(c *tls.Certificate) []string {
	if c.Leaf == nil {
		return nil
	}
	if len(c.Leaf.DNSNames) == 0 && c.Leaf.Subject.CommonName != "" {
		return []string{c.Leaf.Subject.CommonName}
	}
	return c.Leaf.DNSNames
}

// choose returns the certificate for a ClientHello: of those with its name, or else with a wildcard for it, or else of
// all, the first one whose key the client knows; the first one if it knows none.
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
		unnamed.ServerName = "" // or SupportsCertificate would ask for it
		hello = &unnamed
	}
	for _, c := range found {
		if len(found) == 1 || hello.SupportsCertificate(c) == nil {
			return c, nil
		}
	}
	return found[0], nil
}
