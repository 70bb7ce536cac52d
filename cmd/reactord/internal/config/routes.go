package config

import (
	"net/netip"
	"strings"
	"unicode"
)

// routes finds routes without an effect or a backend.
func (v *validator) routes(at *step, l *Listener, known func(*step, string)) {
	hello, ends := false, len(l.TLS.Certificates) > 0
	for i := range l.Routes {
		r := &l.Routes[i]
		hello = hello || len(r.SNI)+len(r.ALPN) > 0
		ends = ends || len(r.TLS.Certificates) > 0
	}
	for i := range l.Routes {
		r, at := &l.Routes[i], at.of("routes").nth(i)
		v.targets(at, r, known)
		v.routeTLS(at, r, ends)
		switch last := i == len(l.Routes)-1; {
		case !r.Unconditional():
		case !last:
			v.add(at, "a route without a condition matches every connection: write sni, alpn, sources or destinations, "+
				"or move it to the end")
		case l.Backend != "":
			v.add(at, "a route without a condition leaves no connections for the listener's backend %s: remove one of "+
				"both", quote(l.Backend)).Other = at.up.of("backend").String()
		}
		for j, name := range r.SNI {
			if text := sniFault(name); text != "" && !strings.HasPrefix(name, setPrefix) {
				v.value(at.of("sni").nth(j), "%s %s", quote(name), text)
			}
		}
	}
	if l.StartTLS != NoStartTLS && !l.Address.UDP && !hello && !ends {
		v.add(at.of("start_tls"), "start_tls requires TLS: write tls.certificates to terminate it here, "+
			"or routes by sni or alpn to pass it on")
	}
}

// targets finds a route without a backend, or with two kinds of them.
func (v *validator) targets(at *step, r *Route, known func(*step, string)) {
	known(at.of("backend"), r.Backend)
	for i := range r.Backends {
		known(at.of("backends").nth(i).of("backend"), r.Backends[i].Backend)
	}
	switch {
	case r.Backend == "" && len(r.Backends) == 0:
		v.add(at.of("backend"), "no backend: write the name of a backend")
	case r.Backend != "" && len(r.Backends) != 0:
		v.add(at.of("backends"), "backend and backends are both set: write one of them")
	}
}

// routeTLS checks that the TLS settings of a route agree. ends tells whether the listener terminates TLS for some
// connections.
func (v *validator) routeTLS(at *step, r *Route, ends bool) {
	v.serverTLS(at.of("tls"), &r.TLS)
	own := len(r.TLS.Certificates) > 0
	switch {
	case r.Passthrough && own:
		v.add(at.of("passthrough"), "passthrough and tls.certificates contradict each other: remove one of them")
	case r.Passthrough && !ends:
		v.add(at.of("passthrough"), "passthrough has no effect on a listener that does not terminate TLS: remove it")
	}
	if r.Transport == RawTransport {
		v.without(at, "transport", "has no effect with transport: raw: remove it, or write another transport", []isSet{
			{"sni", len(r.SNI) > 0}, {"alpn", len(r.ALPN) > 0}, {"tls", own}, {"passthrough", r.Passthrough},
		})
	}
}

// sniFault returns what is wrong with a server name of a route, or "".
func sniFault(name string) string {
	rest := strings.TrimPrefix(name, "*.")
	_, err := netip.ParseAddr(strings.Trim(rest, "[]"))
	switch {
	case err == nil:
		return "is an IP address, which clients do not send: write a name, or a route by destinations"
	case name == "*":
		return "matches no name: to match every name, write the listener's backend"
	case strings.Contains(rest, "*"):
		return `has a "*" that is not its first label: write "*.example.org" for every name below example.org`
	case strings.IndexFunc(rest, func(r rune) bool { return r > unicode.MaxASCII }) >= 0:
		return "is not ASCII, which clients send: write it in its ASCII form, xn--…"
	case strings.HasSuffix(rest, ".") && isHostName(rest):
		return "ends with a dot, which clients do not send: write it without the dot at the end"
	case !isHostName(rest):
		return `is not the name of a server: write it without a port and a path, as in "example.org" or "*.example.org"`
	}
	return ""
}
