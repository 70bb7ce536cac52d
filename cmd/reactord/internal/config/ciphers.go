package config

import (
	"crypto/tls"
	"slices"
)

// Ciphers are the names of the cipher suites that can be configured: those of TLS 1.2 and before, the secure ones
// first.
var Ciphers = cipherNames(tls.VersionTLS12)

// fixedCiphers are those of TLS 1.3, which cannot.
var fixedCiphers = cipherNames(tls.VersionTLS13)

func cipherNames(version uint16) (names []string) {
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		if slices.Contains(s.SupportedVersions, version) {
			names = append(names, s.Name)
		}
	}
	return names
}
