package config

import (
	"net/netip"
	"strings"
	"unicode"
)

// routes finds routes that lead nowhere or can match nothing, and what they lack.
func (v *validator) routes(at *step, l *Listener, known func(*step, string)) {
	hello := false
	for i := range l.Routes {
		r, at := &l.Routes[i], at.of("routes").nth(i)
		known(at.of("backend"), r.Backend)
		hello = hello || len(r.SNI)+len(r.ALPN) > 0
		if len(r.SNI)+len(r.ALPN)+len(r.Sources)+len(r.Destinations) == 0 {
			v.add(at, "a route without a condition matches every connection: write sni, alpn, sources or destinations, "+
				"or name the backend as the listener's")
		}
		for j, name := range r.SNI {
			if text := sniFault(name); text != "" {
				v.value(at.of("sni").nth(j), "%s %s", quote(name), text)
			}
		}
	}
	if l.StartTLS != "none" && !l.Address.UDP && !hello && len(l.TLS.Certificates) == 0 {
		v.add(at.of("start_tls"), "nothing speaks the TLS that clients ask for: write tls.certificates to end it here, "+
			"or routes by sni or alpn to pass it on")
	}
}

// sniFault is what is wrong with the name of a route, or "".
func sniFault(name string) string {
	rest := strings.TrimPrefix(name, "*.")
	_, err := netip.ParseAddr(strings.Trim(rest, "[]"))
	switch {
	case err == nil:
		return "is an IP address, which clients do not send: write a name, or a route by destinations"
	case name == "*":
		return "matches no name: for every name, write the backend of the listener"
	case strings.Contains(rest, "*"):
		return `has a "*" that is not its first label: write "*.example.org" for every name below example.org`
	case strings.IndexFunc(rest, func(r rune) bool { return r > unicode.MaxASCII }) >= 0:
		return "is not in ASCII, in which clients send it: write it in its ASCII form, xn--…"
	case strings.HasSuffix(rest, ".") && isHostName(rest):
		return "ends with a dot, which clients do not send: write it without the dot at the end"
	case !isHostName(rest):
		return `is not the name of a server: write it without a port and a path, as in "example.org" or "*.example.org"`
	}
	return ""
}
