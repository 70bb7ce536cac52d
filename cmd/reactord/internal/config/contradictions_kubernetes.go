package config

import (
	"net/netip"
	"net/url"
	"strings"
)

func (v *validator) kubernetes(at *step, k *Kubernetes) {
	if k.KeyFile != "" && k.CertFile == "" {
		v.add(at.of("key_file"), "key_file requires cert_file: write it, too")
	}
	if !strings.HasPrefix(strings.ToLower(k.Address), "http:") {
		return
	}
	v.secretURL(at, k.Address, k.TokenFile)
	for _, s := range []struct{ key, file string }{{"ca_file", k.CAFile}, {"cert_file", k.CertFile}} {
		if s.file != "" {
			v.add(at.of(s.key), "%s has no effect with http: write an https address, or remove it", s.key)
		}
	}
}

// secretURL finds tokens that would leave the machine unencrypted.
func (v *validator) secretURL(at *step, address, tokenFile string) {
	if v.sentOpenly(address, tokenFile) {
		v.add(at.of("token_file"), "the token would be sent unencrypted: write an https address, or remove token_file")
	}
}

// sentOpenly reports whether a secret of a file would be sent over a network unencrypted.
func (v *validator) sentOpenly(address, file string) bool {
	u, err := url.Parse(address)
	if file == "" || err != nil || u.Scheme != "http" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback())
}
