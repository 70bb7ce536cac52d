package certs

import (
	"crypto/tls"
	"slices"
)

// versions are the versions of TLS by their names in the configuration.
var versions = map[string]uint16{
	"1.0": tls.VersionTLS10, "1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13,
}

// Ciphers are the names of the cipher suites that may be configured: those of TLS 1.2 and before.
func Ciphers() (names []string) {
	for _, s := range configurable() {
		names = append(names, s.Name)
	}
	return names
}

func configurable() []*tls.CipherSuite {
	all := slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites())
	return slices.DeleteFunc(all, func(s *tls.CipherSuite) bool {
		return !slices.ContainsFunc(s.SupportedVersions, func(v uint16) bool { return v <= tls.VersionTLS12 })
	})
}

// suites are the cipher suites of these names; nil: those of Go.
func suites(names []string) (ids []uint16) {
	for _, s := range configurable() {
		if slices.Contains(names, s.Name) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}
