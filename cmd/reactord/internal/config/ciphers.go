package config

import (
	"crypto/tls"
	"slices"
)

// Ciphers names the configurable cipher suites, those of TLS 1.2 and below, secure ones first.
var Ciphers = cipherNames(tls.VersionTLS12)

// Curves names the configurable key exchanges.
var Curves = []string{
	"X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024", "X25519", "P-256", "P-384", "P-521",
}

// fixedCiphers names the cipher suites of TLS 1.3, which are not configurable.
var fixedCiphers = cipherNames(tls.VersionTLS13)

func cipherNames(version uint16) (names []string) {
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		if slices.Contains(s.SupportedVersions, version) {
			names = append(names, s.Name)
		}
	}
	return names
}
