package config

import (
	"slices"
	"strings"
)

// serverTLS checks that the TLS settings of a listener or a route agree.
func (v *validator) serverTLS(at *step, t *ServerTLS) {
	v.versions(at, t.MinVersion, t.MaxVersion)
	v.ciphers(at.of("ciphers"), t.Ciphers)
	v.curves(at.of("curves"), t.Curves, t.MaxVersion)
	v.alpn(at.of("alpn"), t.ALPN)
	switch d := newServerTLS(); {
	case len(t.Certificates) == 0:
		v.without(at, "certificates", "has no effect without certificates: write certificates, too", []isSet{
			{"client_auth", t.ClientAuth != d.ClientAuth}, {"client_ca", t.ClientCA != ""},
			{"client_crl", t.ClientCRL != ""}, {"client_sans", len(t.ClientSANs) != 0},
			{"deny_sans", len(t.DenySANs) != 0}, {"ticket_keys", t.TicketKeys != ""},
			{"ciphers", len(t.Ciphers) != 0},
			{"curves", len(t.Curves) != 0}, {"alpn", len(t.ALPN) != 0},
		})
	case t.ClientAuth != NoClientAuth && t.ClientCA == "" && slices.Contains(ClientAuths, t.ClientAuth):
		v.add(at.of("client_ca"), "client_auth: %s needs client_ca: write the file with the certificates of the "+
			"authorities of clients", t.ClientAuth)
	case t.ClientAuth == NoClientAuth && t.ClientCA != "":
		v.vain(at.of("client_ca"), at.of("client_auth"),
			"client_ca has no effect with client_auth: none: write request or require")
	}
	if t.ClientAuth == NoClientAuth && len(t.Certificates) > 0 && len(t.ClientSANs) > 0 {
		v.vain(at.of("client_sans"), at.of("client_auth"),
			"client_sans has no effect with client_auth: none: write request or require")
	}
	if t.ClientAuth == NoClientAuth && len(t.Certificates) > 0 && len(t.DenySANs) > 0 {
		v.vain(at.of("deny_sans"), at.of("client_auth"),
			"deny_sans has no effect with client_auth: none: write request or require")
	}
	if n := len(t.DenySANs); n > 0 && strings.HasPrefix(t.DenySANs[n-1], ExceptSAN) {
		v.add(at.of("deny_sans"), "nothing is denied after the last exception: write a name after it")
	}
	if t.ClientCRL != "" && t.ClientCA == "" && len(t.Certificates) > 0 {
		v.vain(at.of("client_crl"), at.of("client_auth"), "client_crl requires client_ca: write it, too")
	}
	if t.TicketKeys != "" && !t.Tickets {
		v.vain(at.of("ticket_keys"), at.of("tickets"),
			"ticket_keys has no effect with tickets: false: remove one of them")
	}
}

// clientTLS checks that the TLS settings of a backend agree.
func (v *validator) clientTLS(at *step, t *ClientTLS) {
	v.versions(at, t.MinVersion, t.MaxVersion)
	v.ciphers(at.of("ciphers"), t.Ciphers)
	v.curves(at.of("curves"), t.Curves, t.MaxVersion)
	v.alpn(at.of("alpn"), t.ALPN)
	if !t.Enabled {
		v.without(at, "enabled", "has no effect without TLS: write enabled: true, too", []isSet{
			{"server_name", t.ServerName != ""}, {"sans", len(t.SANs) != 0}, {"ca", t.CA != ""}, {"crl", t.CRL != ""},
			{"insecure", t.Insecure},
			{"cert", t.Cert != ""}, {"key", t.Key != ""}, {"key_password_file", t.KeyPasswordFile != ""},
			{"ciphers", len(t.Ciphers) != 0},
			{"curves", len(t.Curves) != 0}, {"alpn", len(t.ALPN) != 0},
		})
		return
	}
	if t.Insecure && t.CA != "" {
		v.vain(at.of("ca"), at.of("insecure"), "ca has no effect with insecure: remove one of them")
	}
	if t.Insecure && len(t.SANs) > 0 {
		v.vain(at.of("sans"), at.of("insecure"), "sans has no effect with insecure: remove one of them")
	}
	if t.CRL != "" && t.CA == "" {
		v.vain(at.of("crl"), at.of("insecure"), "crl requires ca: write it, too")
	}
	if t.ServerName == "." && !t.Insecure && len(t.SANs) == 0 {
		v.add(at.of("server_name"), `server_name "." requires sans: write the names that the certificate may have`)
	}
	if t.Key != "" && t.Cert == "" {
		v.add(at.of("key"), "key requires cert: write it, too")
	}
	if t.KeyPasswordFile != "" && t.Cert == "" {
		v.add(at.of("key_password_file"), "key_password_file requires cert: write it, too")
	}
}

// isSet tells whether a setting is set.
type isSet struct {
	key string
	set bool
}

// without adds a problem for the first setting that is set but has no effect because of another one.
func (v *validator) without(at *step, because, text string, all []isSet) {
	for _, s := range all {
		if s.set {
			v.vain(at.of(s.key), at.of(because), "%s %s", s.key, text)
			return
		}
	}
}

func (v *validator) versions(at *step, least, greatest TLSVersion) {
	i, j := slices.Index(TLSVersions, least), slices.Index(TLSVersions, greatest)
	if i > j && j >= 0 {
		v.value(at.of("min_version"), "%s is greater than max_version, %s", quote(string(least)), greatest).Other =
			at.of("max_version").String()
	}
}

// ciphers finds unknown cipher suites.
func (v *validator) ciphers(at *step, all []string) {
	if len(all) == 0 {
		return // a control plane may have thousands of listeners
	}
	known := newWords(Ciphers)
	for i, name := range all {
		switch {
		case slices.Contains(fixedCiphers, name):
			v.value(at.nth(i), "%s is a cipher suite of TLS 1.3, which are fixed: remove it", quote(name))
		case !known.has(name):
			v.value(at.nth(i), "%s is unknown: %s", quote(name), known.didYouMean(name))
		}
	}
}

// curves finds unknown key exchanges, and lists of which the highest TLS version can use none.
func (v *validator) curves(at *step, all []string, greatest TLSVersion) {
	if len(all) == 0 {
		return
	}
	known, usable := newWords(Curves), greatest == TLS13
	for i, name := range all {
		if !known.has(name) {
			v.value(at.nth(i), "%s is unknown: %s", quote(name), known.didYouMean(name))
		}
		usable = usable || !strings.Contains(name, "MLKEM")
	}
	if !usable {
		v.add(at, "TLS %s has none of these key exchanges: add X25519, P-256, P-384 or P-521", greatest)
	}
}

// maxProtocol limits the name of a protocol (RFC 7301).
const maxProtocol = 255

func (v *validator) alpn(at *step, all []string) {
	for i, name := range all {
		if name == "" || len(name) > maxProtocol {
			v.value(at.nth(i), "%s is not a protocol: write a name of 1 to %d bytes, such as h2", quote(name), maxProtocol)
		}
	}
}
