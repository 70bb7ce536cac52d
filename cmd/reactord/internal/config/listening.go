package config

import (
	"net/netip"
	"strings"
)

// place is what an address must not share with another listener. Sockets of one address on two interfaces are two.
func (l *Listener) place() string {
	if l.Socket.Interface != "" {
		return l.Address.String() + " on " + l.Socket.Interface
	}
	return l.Address.String()
}

// listener finds settings that do not fit the address of a listener.
func (v *validator) listener(at *step, l *Listener) {
	a := l.Address
	if a.IsZero() {
		return // which is another problem
	}
	v.socket(at.of("socket"), a, &l.Socket)
	if a.UDP {
		v.datagrams(at, l)
	} else if l.UDP.Requests != 0 || l.UDP.Responses != 0 {
		v.add(at.of("udp"), "udp is for listeners of datagrams: write address: %sHOST:PORT, or remove it",
			schemeUDP)
	}
	if told := len(l.ProxyProtocol.Trusted) > 0; a.Path != "" {
		v.misfits(at, "a unix socket's clients have no address, by which they could be told apart", []misfit{
			{"allow", len(l.Allow) > 0 && !told}, {"deny", len(l.Deny) > 0 && !told},
			{"source_rate", l.SourceRate.Connections != 0}, {"bandwidth.source", l.Bandwidth.Source != ByteRate{}},
		})
	}
}

// datagrams finds settings that a listener of datagrams cannot have.
func (v *validator) datagrams(at *step, l *Listener) {
	bySNI := false
	for i := range l.Routes {
		bySNI = bySNI || len(l.Routes[i].SNI)+len(l.Routes[i].ALPN) > 0
	}
	if bySNI {
		v.add(at.of("routes"), "datagrams have no ClientHello: remove sni and alpn, or write a TCP address")
	}
	v.misfits(at, "it is for connections, and this listener takes datagrams", []misfit{
		{"tls", len(l.TLS.Certificates) > 0}, {"start_tls", l.StartTLS != "none" && l.StartTLS != ""},
		{"proxy_protocol.trusted", len(l.ProxyProtocol.Trusted) > 0},
		{"bandwidth", l.Bandwidth != Bandwidth{}},
	})
	if l.UDP.Responses != 0 && l.UDP.Requests == 0 {
		v.add(at.of("udp").of("responses"), "responses has no effect without requests: write requests, too")
	}
}

// socket finds options that the sockets of an address do not have.
func (v *validator) socket(at *step, a Address, s *Socket) {
	file := a.Path != "" && !strings.HasPrefix(a.Path, "@")
	if !file {
		v.misfits(at, "it is of the file of a unix socket, and this listener has none", []misfit{
			{"mode", s.Mode != NewListener().Socket.Mode}, {"owner", s.Owner != ""}, {"group", s.Group != ""},
		})
	}
	if a.Path != "" {
		v.misfits(at, "a unix socket has no such option", []misfit{
			{"fast_open", s.FastOpen != 0}, {"interface", s.Interface != ""}, {"mss", s.MSS != 0}, {"tos", s.TOS != 0},
		})
	}
	if a.UDP {
		v.misfits(at, "it is an option of TCP, and this listener takes datagrams", []misfit{
			{"backlog", s.Backlog != 0}, {"fast_open", s.FastOpen != 0}, {"mss", s.MSS != 0},
		})
	}
	if a.FD != "" {
		v.misfits(at, "the service manager has opened the socket: set it in its unit (BindToDevice=)", []misfit{
			{"interface", s.Interface != ""},
		})
	}
	if ip, err := netip.ParseAddr(a.Host); s.IPv6Only && (err != nil || !ip.Is6() || !ip.IsUnspecified()) {
		v.add(at.of("ipv6_only"), "ipv6_only is for the address [::], which takes IPv4 clients, too: remove it")
	}
}

// misfit is a setting that must not be set.
type misfit struct {
	key string
	set bool
}

// misfits adds a problem for each setting that is set.
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

// protocols finds servers of UDP in backends of TCP listeners, and PROXY headers of version 1 in those of UDP
// listeners. A server without a scheme, or with tcp://, fits both.
func (v *validator) protocols(at *step, c *Config) {
	tcp, udp := map[string]*Listener{}, map[string]*Listener{}
	for i := range c.Listeners {
		l, of := &c.Listeners[i], tcp
		if l.Address.UDP {
			of = udp
		}
		of[l.Backend] = l
		for j := range l.Routes {
			of[l.Routes[j].Backend] = l
		}
	}
	for i := range c.Backends {
		if l := udp[c.Backends[i].Name]; l != nil && c.Backends[i].ProxyProtocol.Version == "v1" {
			v.value(at.nth(i).of("proxy_protocol").of("version"),
				"v1: listener %s sends datagrams there, which version 1 has no header for: write v2", quote(l.Name))
		}
		l := tcp[c.Backends[i].Name]
		if l == nil {
			continue
		}
		for j, s := range c.Backends[i].Servers {
			if s.Address.UDP {
				v.value(at.nth(i).of("servers").nth(j).of("address"),
					"%s: listener %s sends connections there: write %s without a scheme",
					quote(s.Address.String()), quote(l.Name), s.Address.HostPort())
			}
		}
	}
}
