package certs

import (
	"crypto/tls"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// versions maps names in the configuration to TLS versions.
var versions = map[config.TLSVersion]uint16{
	config.TLS10: tls.VersionTLS10, config.TLS11: tls.VersionTLS11, config.TLS12: tls.VersionTLS12,
	config.TLS13: tls.VersionTLS13,
}

// curves maps names in the configuration to key exchanges.
var curves = map[string]tls.CurveID{
	"X25519MLKEM768": tls.X25519MLKEM768, "SecP256r1MLKEM768": tls.SecP256r1MLKEM768,
	"SecP384r1MLKEM1024": tls.SecP384r1MLKEM1024,
	"X25519":             tls.X25519, "P-256": tls.CurveP256, "P-384": tls.CurveP384, "P-521": tls.CurveP521,
}

// exchanges returns the named key exchanges, or nil for Go's default.
func exchanges(names []string) (ids []tls.CurveID) {
	for _, name := range names {
		ids = append(ids, curves[name])
	}
	return ids
}

// suites returns the named cipher suites, or nil for Go's default.
func suites(names []string) (ids []uint16) {
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		if slices.Contains(names, s.Name) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}
