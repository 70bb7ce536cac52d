package config

import (
	"net/netip"
	"slices"
	"strings"
)

// place returns what must be unique among listeners. The same address on two interfaces is two places.
func (l *Listener) place() string {
	if l.Socket.Interface != "" {
		return l.Address.String() + " on " + l.Socket.Interface
	}
	return l.Address.String()
}

// listener checks that settings fit the listener's address.
func (v *validator) listener(at *step, l *Listener) {
	a := l.Address
	if a.IsZero() {
		return // reported elsewhere
	}
	v.socket(at.of("socket"), a, &l.Socket)
	if a.UDP {
		v.datagrams(at, l)
	} else if l.UDP.Requests != 0 || l.UDP.Responses != 0 {
		v.add(at.of("udp"), "udp requires a UDP address: write address: %sHOST:PORT, or remove it",
			schemeUDP)
	}
	if told := len(l.ProxyProtocol.Trusted) > 0; a.Path != "" {
		v.misfits(at, "clients of a unix socket have no address", []misfit{
			{"allow", len(l.Allow) > 0 && !told}, {"deny", len(l.Deny) > 0 && !told},
			{"source_rate", l.SourceRate.Connections != 0 && !told},
			{"source_connections", l.SourceConnections.Max != 0 && !told},
			{"bandwidth.source", l.Bandwidth.Source != ByteRate{}},
		})
	}
}

// datagrams finds settings that a UDP listener cannot have.
func (v *validator) datagrams(at *step, l *Listener) {
	bySNI := false
	for i := range l.Routes {
		r := &l.Routes[i]
		bySNI = bySNI || len(r.SNI)+len(r.ALPN) > 0
		v.misfits(at.of("routes").nth(i), "it applies to connections, and this is a UDP listener", []misfit{
			{"transport", r.Transport == TLSTransport || r.Transport == RawTransport}, {"tls", len(r.TLS.Certificates) > 0},
			{"passthrough", r.Passthrough}, {"idle_timeout", r.IdleTimeout != 0},
		})
	}
	if bySNI {
		v.add(at.of("routes"), "a UDP listener cannot route by sni or alpn: remove them, or write a TCP address")
	}
	v.misfits(at, "it applies to connections, and this is a UDP listener", []misfit{
		{"tls", len(l.TLS.Certificates) > 0}, {"start_tls", l.StartTLS != NoStartTLS && l.StartTLS != ""},
		{"proxy_protocol.trusted", len(l.ProxyProtocol.Trusted) > 0},
		{"bandwidth", l.Bandwidth != Bandwidth{}},
	})
	if l.UDP.Responses != 0 && l.UDP.Requests == 0 {
		v.add(at.of("udp").of("responses"), "responses has no effect without requests: write requests, too")
	}
}

// socket finds options that do not apply to the sockets of an address.
func (v *validator) socket(at *step, a Address, s *Socket) {
	keepsAlive := s.KeepAlive.Mode != newSocket().KeepAlive.Mode
	file := a.Path != "" && !strings.HasPrefix(a.Path, "@")
	if !file {
		v.misfits(at, "it applies to the file of a unix socket", []misfit{
			{"mode", s.Mode != NewListener().Socket.Mode}, {"owner", s.Owner != ""}, {"group", s.Group != ""},
		})
	}
	if a.Path != "" {
		v.misfits(at, "unix sockets have no such option", []misfit{
			{"fast_open", s.FastOpen != 0}, {"interface", s.Interface != ""}, {"mss", s.MSS != 0}, {"tos", s.TOS != 0},
			{"free_bind", s.FreeBind}, {"keep_alive", keepsAlive},
		})
	}
	if a.UDP {
		v.misfits(at, "it is a TCP option, and this is a UDP listener", []misfit{
			{"backlog", s.Backlog != 0}, {"fast_open", s.FastOpen != 0}, {"mss", s.MSS != 0},
			{"keep_alive", keepsAlive},
		})
	}
	if a.FD != "" {
		v.misfits(at, "the service manager opens the socket: set it in its unit (BindToDevice=)", []misfit{
			{"interface", s.Interface != ""}, {"free_bind", s.FreeBind},
		})
	}
	if k, d := &s.KeepAlive, newSocket().KeepAlive; k.Mode != OwnKeepAlive {
		v.without(at.of("keep_alive"), "mode", "has no effect without mode: own: write it, too", []isSet{
			{"idle", k.Idle != d.Idle}, {"interval", k.Interval != d.Interval}, {"count", k.Count != d.Count},
		})
	}
	if ip, err := netip.ParseAddr(a.Host); s.IPv6Only && (err != nil || !ip.Is6() || !ip.IsUnspecified()) {
		v.add(at.of("ipv6_only"), "ipv6_only applies only to the address [::], which accepts IPv4 clients, too: remove it")
	}
}

// misfit is a setting that must not be set.
type misfit struct {
	key string
	set bool
}

// misfits adds a problem for each of the settings that is set.
func (v *validator) misfits(at *step, why string, all []misfit) {
	for _, m := range all {
		if !m.set {
			continue
		}
		below := at
		for key := range strings.SplitSeq(m.key, ".") {
			below = below.of(key)
		}
		v.add(below, "%s does not fit the address: %s", m.key, why)
	}
}

// protocols finds backends that cannot serve their listeners: UDP servers for connections; TLS and PROXY headers of
// version 1 for datagrams. A server without a scheme, or with tcp://, serves both.
func (v *validator) protocols(at *step, c *Config) {
	tcp, udp := map[string]*Listener{}, map[string]*Listener{}
	for i := range c.Listeners {
		l, of := &c.Listeners[i], tcp
		if l.Address.UDP {
			of = udp
		}
		of[l.Backend] = l
		for j := range l.Routes {
			for _, to := range l.Routes[j].Targets() {
				of[to.Backend] = l
			}
		}
	}
	for i := range c.Backends {
		b, at := &c.Backends[i], at.nth(i)
		if l := udp[b.Name]; l != nil {
			v.forDatagrams(at, b, l)
			if b.Hold != 0 && tcp[b.Name] == nil {
				v.add(at.of("hold"), "hold does not apply to the datagrams of listener %s, which are dropped while there is "+
					"no server: remove it", quote(l.Name))
			}
		}
		if l := tcp[b.Name]; l != nil {
			v.forConnections(at, b, l)
		}
	}
}

// forDatagrams finds settings of a backend that a UDP listener cannot use.
func (v *validator) forDatagrams(at *step, b *Backend, l *Listener) {
	const noTLS = "TLS cannot protect the datagrams of listener %s: " +
		"remove it, or write another backend for the listener"
	if b.TLS.Enabled {
		v.value(at.of("tls").of("enabled"), "true: "+noTLS, quote(l.Name))
	}
	if s := b.TLS.StartTLS; s != NoStartTLS && slices.Contains(StartTLSProtocols, s) {
		v.value(at.of("tls").of("start_tls"), "%s: "+noTLS, s, quote(l.Name))
	}
	if b.ProxyProtocol.Version == ProxyV1 {
		v.value(at.of("proxy_protocol").of("version"),
			"v1 has no header for the datagrams of listener %s: write v2", quote(l.Name))
	}
	for i, s := range b.Servers {
		if s.Address.Path != "" {
			v.value(at.of("servers").nth(i).of("address"), "%s cannot serve the datagrams of listener %s: write HOST:PORT",
				quote(s.Address.String()), quote(l.Name))
		}
	}
}

// forConnections finds UDP servers of a backend with a TCP listener.
func (v *validator) forConnections(at *step, b *Backend, l *Listener) {
	for i, s := range b.Servers {
		if s.Address.UDP {
			v.value(at.of("servers").nth(i).of("address"),
				"%s cannot serve the connections of listener %s: write %s without a scheme",
				quote(s.Address.String()), quote(l.Name), s.Address.HostPort())
		}
	}
}
