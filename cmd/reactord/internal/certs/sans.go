package certs

import (
	"crypto/x509"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// maxTold limits the names of a certificate in an error.
const maxTold = 10

// sans lists names of which a certificate must have at least one.
type sans []san

// san is a name, or a pattern of names.
type san struct {
	config.SAN
	pattern *regexp.Regexp // for Match "regex"
	wildcards
}

// wildcards reports whether a wildcard in a certificate matches names.
type wildcards bool

const (
	// byWildcards is for servers, whose certificates are valid for all names that the wildcard matches.
	byWildcards wildcards = true
	// literally is for clients: "*.example.org" is not the client a.example.org.
	literally wildcards = false
)

// newSANs parses names that the configuration has checked.
func newSANs(texts []string, w wildcards) (all sans) {
	for _, text := range texts {
		if s, err := config.ParseSAN(text); err == nil {
			all = append(all, newSAN(s, w))
		}
	}
	return all
}

func newSAN(s config.SAN, w wildcards) san {
	one := san{SAN: s, wildcards: w}
	if s.Match == "regex" {
		one.pattern = regexp.MustCompile(s.Pattern())
	}
	return one
}

// match reports whether a certificate has one of the names.
func (all sans) match(c *x509.Certificate) bool {
	return slices.ContainsFunc(all, func(s san) bool { return s.of(c) })
}

// of reports whether a certificate has the name.
func (s san) of(c *x509.Certificate) bool {
	return s.Kind == config.AnySAN || slices.ContainsFunc(namesOfKind(c, s.Kind), func(name string) bool {
		return matches(s, name)
	})
}

// namesOfKind returns the subject alternative names of a kind.
func namesOfKind(c *x509.Certificate, kind string) (names []string) {
	switch kind {
	case "dns":
		return c.DNSNames
	case "email":
		return c.EmailAddresses
	case "uri":
		for _, u := range c.URIs {
			names = append(names, u.String())
		}
	case "ip":
		for _, ip := range c.IPAddresses {
			names = append(names, ip.String())
		}
	}
	return names
}

// matches compares a name of a certificate. Only DNS names ignore case. A wildcard, where it counts, matches one
// label.
func matches(s san, name string) bool {
	want := s.Value
	if s.Kind == "dns" {
		name, want = strings.ToLower(name), strings.ToLower(want)
	}
	switch s.Match {
	case "regex":
		return s.pattern.MatchString(name)
	case "prefix":
		return strings.HasPrefix(name, want)
	case "suffix":
		return strings.HasSuffix(name, want)
	case "contains":
		return strings.Contains(name, want)
	}
	if parent, ok := strings.CutPrefix(name, "*."); ok && s.Kind == "dns" && bool(s.wildcards) {
		if label, rest, found := strings.Cut(want, "."); found && label != "" && rest == parent {
			return true
		}
	}
	return name == want
}

// verify returns an error unless a certificate has one of the names.
func (all sans) verify(c *x509.Certificate) error {
	if all.match(c) {
		return nil
	}
	var have []string
	for _, kind := range []string{"dns", "uri", "ip", "email"} {
		for _, name := range namesOfKind(c, kind) {
			have = append(have, kind+":"+name)
		}
	}
	return fmt.Errorf("%w: it has none of the names %v, but %v", ErrName, all, have[:min(len(have), maxTold)])
}
