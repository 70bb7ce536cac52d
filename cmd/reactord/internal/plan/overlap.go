package plan

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// overlaps refuses addresses that would be listened on twice: the kernel would spread connections over both listeners.
// The unspecified address of a family overlaps each address of the family. The kernel would prefer the more specific
// one, but then the backend of a client would depend on the address that the client happens to use. [::] covers every
// address, IPv4 included, unless it is for IPv6 only. TCP and UDP do not overlap, and neither do two interfaces.
func (m *merger) overlaps() {
	o := overlaps{merger: m, ports: map[portKey][]bound{}, names: map[string]bound{}}
	for i := range m.file.Config.Listeners {
		l := &m.file.Config.Listeners[i]
		b := bound{path: listenerPath(i), key: "address", Address: l.Address, socket: &l.Socket}
		switch a := l.Address; {
		case a.FD != "":
			o.name("fd "+a.FD, b)
		case a.Path != "":
			o.name("unix "+a.Path, b)
		default:
			b.ip = numericZone(m.file.Address(a).Addr())
			o.ip(b)
		}
	}
	if at := m.file.Config.Metrics.Address; !at.IsZero() {
		b := bound{path: "metrics.address", key: "metrics", Address: at, socket: &config.Socket{}}
		if b.ip = numericZone(m.file.Address(at).Addr()); b.ip.IsUnspecified() {
			b.ip = netip.IPv6Unspecified() // net.Listen listens on both families for 0.0.0.0, too
		}
		o.ip(b)
	}
}

// overlaps is the state of the check for overlapping addresses.
type overlaps struct {
	*merger
	ports map[portKey][]bound
	names map[string]bound // unix sockets, and sockets of the service manager
}

type portKey struct {
	udp  bool
	port uint16
}

// bound is an address to listen on.
type bound struct {
	path, key string // of the setting
	config.Address
	ip     netip.Addr
	socket *config.Socket
}

func (o *overlaps) name(name string, b bound) {
	if other, twice := o.names[name]; twice {
		o.addProblem(b.path, other.path, b.key, "%q is used twice", b.String())
	}
	o.names[name] = b
}

// ip records an address, and refuses it if it overlaps an earlier one. Port 0 is any free one, and overlaps none.
func (o *overlaps) ip(b bound) {
	if b.Port == 0 {
		return
	}
	found := false
	for _, one := range b.Ports() {
		key := portKey{b.UDP, one.Port}
		for _, other := range o.ports[key] {
			if !found && b.overlaps(&other) {
				found = true
				o.addProblem(b.path, other.path, b.key, "%q overlaps %q: a connection could be for either",
					b.String(), other.String())
			}
		}
		o.ports[key] = append(o.ports[key], b)
	}
}

// overlaps reports whether a connection could arrive at both addresses of a port.
func (b *bound) overlaps(other *bound) bool {
	if i, j := b.socket.Interface, other.socket.Interface; i != "" && j != "" && i != j {
		return false
	}
	return b.ip == other.ip || covers(b.ip, b.socket.IPv6Only, other.ip) || covers(other.ip, other.socket.IPv6Only, b.ip)
}

// listenerPath returns the path of a listener's address in the file.
func listenerPath(i int) string { return fmt.Sprintf("listeners[%d].address", i) }

// covers reports whether a is an unspecified address that includes every address of ip's family.
func covers(a netip.Addr, ipv6Only bool, ip netip.Addr) bool {
	return a.IsUnspecified() && (a.Is4() == ip.Is4() || a.Is6() && !ipv6Only)
}

// numericZone returns an address with its zone, if any, as the number of the interface.
func numericZone(ip netip.Addr) netip.Addr {
	if ip.Zone() == "" {
		return ip
	}
	if i, err := net.InterfaceByName(ip.Zone()); err == nil {
		return ip.WithZone(strconv.Itoa(i.Index))
	}
	return ip
}
