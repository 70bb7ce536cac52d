package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// AnySAN is the entry of [ClientTLS.SANs] that every certificate has.
const AnySAN = "any"

// ExceptSAN begins an entry of [ServerTLS.DenySANs] whose name is not denied by the entries after it.
const ExceptSAN = "except "

// The kinds of a [SAN], and how its value is compared.
var (
	sanKinds   = []string{"dns", "uri", "ip", "email"}
	sanMatches = []string{"", "prefix", "suffix", "contains", "regex"}
)

// SAN is what a subject alternative name of a certificate must be.
type SAN struct {
	Kind  string // "dns", "uri", "ip", "email", or AnySAN
	Match string // "" (equal), "prefix", "suffix", "contains" or "regex"
	Value string
}

// ParseSAN reads an entry of [ClientTLS.SANs] or [ServerTLS.ClientSANs].
func ParseSAN(text string) (SAN, error) {
	if text == AnySAN {
		return SAN{Kind: AnySAN}, nil
	}
	form, value, found := strings.Cut(text, ":")
	kind, match, matched := strings.Cut(form, "-")
	s := SAN{Kind: kind, Match: match, Value: value}
	switch {
	case !found, !slices.Contains(sanKinds, kind), !slices.Contains(sanMatches, match), matched && match == "":
		return SAN{}, fmt.Errorf("%s is not a name of a certificate: write it as in dns:example.org, "+
			"uri:spiffe://example.org/a or uri-prefix:spiffe://example.org/", quote(text))
	case value == "":
		return SAN{}, fmt.Errorf("%s has no name: write it after the colon", quote(text))
	case kind == "ip" && match != "":
		return SAN{}, fmt.Errorf("%s: an address is compared as a whole: write ip:ADDRESS", quote(text))
	}
	if match == "regex" {
		if _, err := regexp.Compile(s.Value); err != nil {
			return SAN{}, fmt.Errorf("%s is not a regular expression of RE2: %w", quote(text), err)
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

// ParseDeniedSAN reads an entry of [ServerTLS.DenySANs].
func ParseDeniedSAN(text string) (s SAN, except bool, err error) {
	text, except = strings.CutPrefix(text, ExceptSAN)
	s, err = ParseSAN(text)
	return s, except, err
}

// Pattern is the regular expression of a SAN whose Match is "regex". A name must be like it as a whole.
func (s SAN) Pattern() string { return "^(?:" + s.Value + ")$" }

// String is the SAN in the form of [ParseSAN].
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
		return strings.TrimPrefix(err.Error(), quote(text)+" ")
	}
	return ""
}

func isDeniedSAN(text string) string { return isSAN(strings.TrimPrefix(text, ExceptSAN)) }
