package certs

import (
	"crypto/tls"
	"slices"
)

// versions are the versions of TLS by their names in the configuration.
var versions = map[string]uint16{
	"1.0": tls.VersionTLS10, "1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13,
}

// suites are the cipher suites of these names; nil: those of Go.
func suites(names []string) (ids []uint16) {
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		if slices.Contains(names, s.Name) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}
