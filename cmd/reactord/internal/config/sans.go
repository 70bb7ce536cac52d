package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// AnySAN is the entry of [ClientTLS.SANs] that accepts every certificate.
const AnySAN = "any"

// ExceptSAN starts an entry of [ServerTLS.DenySANs] that exempts a name from the entries after it.
const ExceptSAN = "except "

// Kinds of a [SAN], and ways to compare its value.
var (
	sanKinds   = []string{"dns", "uri", "ip", "email"}
	sanMatches = []string{"", "prefix", "suffix", "contains", "regex"}
)

// SAN is a condition on a subject alternative name of a certificate.
type SAN struct {
	Kind  string // "dns", "uri", "ip", "email", or AnySAN
	Match string // "" (equal), "prefix", "suffix", "contains" or "regex"
	Value string
}

// ParseSAN parses an entry of [ClientTLS.SANs] or [ServerTLS.ClientSANs].
func ParseSAN(text string) (SAN, error) {
	if text == AnySAN {
		return SAN{Kind: AnySAN}, nil
	}
	form, value, found := strings.Cut(text, ":")
	kind, match, matched := strings.Cut(form, "-")
	s := SAN{Kind: kind, Match: match, Value: value}
	switch {
	case !found, !slices.Contains(sanKinds, kind), !slices.Contains(sanMatches, match), matched && match == "":
		return SAN{}, fmt.Errorf("%s is not a subject alternative name: write it as in dns:example.org, "+
			"uri:spiffe://example.org/a or uri-prefix:spiffe://example.org/", quote(text))
	case value == "":
		return SAN{}, fmt.Errorf("%s has no name: write it after the colon", quote(text))
	case kind == "ip" && match != "":
		return SAN{}, fmt.Errorf("%s: IP addresses have no partial match: write ip:ADDRESS", quote(text))
	}
	if match == "regex" {
		if _, err := regexp.Compile(s.Value); err != nil {
			return SAN{}, fmt.Errorf("%s is not an RE2 regular expression: %w", quote(text), err)
		}
	}
	if kind == "ip" {
		a, err := netip.ParseAddr(value)
		if err != nil {
			return SAN{}, fmt.Errorf("%s is not an IP address: write it as in ip:192.0.2.1", quote(text))
		}
		s.Value = a.Unmap().String()
	}
	return s, nil
}

// ParseDeniedSAN parses an entry of [ServerTLS.DenySANs].
func ParseDeniedSAN(text string) (s SAN, except bool, err error) {
	text, except = strings.CutPrefix(text, ExceptSAN)
	s, err = ParseSAN(text)
	return s, except, err
}

// Pattern returns the regular expression of a SAN with Match "regex", anchored at both ends.
func (s SAN) Pattern() string { return "^(?:" + s.Value + ")$" }

// String formats the SAN so that [ParseSAN] reads it back.
func (s SAN) String() string {
	switch {
	case s.Kind == AnySAN:
		return AnySAN
	case s.Match == "":
		return s.Kind + ":" + s.Value
	}
	return s.Kind + "-" + s.Match + ":" + s.Value
}

func isSAN(text string) string {
	if _, err := ParseSAN(text); err != nil {
		return strings.TrimPrefix(strings.TrimPrefix(err.Error(), quote(text)), " ")
	}
	return ""
}

func isDeniedSAN(text string) string { return isSAN(strings.TrimPrefix(text, ExceptSAN)) }
