package plan

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// overlaps finds addresses that would be listened on twice: the kernel would spread connections over both listeners.
// The unspecified address of a family overlaps each address of the family. The kernel would prefer the more specific
// one, but then the backend of a client would depend on the address that the client happens to use. [::] is every
// address, IPv4 included.
func (m *merger) overlaps() {
	type bound struct {
		path, key string
		config.Address
		ip netip.Addr
	}
	ports := map[uint16][]bound{} // except port 0, which is any free port
	sockets := map[string]bound{}
	add := func(b bound) {
		if b.FD != "" {
			if other, twice := sockets[b.FD]; twice {
				m.value(b.path, other.path, b.key, "%q is used twice", b.String())
			}
			sockets[b.FD] = b
			return
		}
		for _, other := range ports[b.Port] {
			if overlap(b.ip, other.ip) {
				m.value(b.path, other.path, b.key, "%q overlaps %q: a connection could be for either",
					b.String(), other.String())
				break
			}
		}
		if b.Port != 0 {
			ports[b.Port] = append(ports[b.Port], b)
		}
	}
	for i, l := range m.file.Config.Listeners {
		add(bound{listenerPath(i), "address", l.Address, inNumbers(m.file.Address(l.Address).Addr())})
	}
	if at := m.file.Config.Metrics; !at.IsZero() {
		b := bound{"metrics", "metrics", at, inNumbers(m.file.Address(at).Addr())}
		if b.ip.IsUnspecified() {
			b.ip = netip.IPv6Unspecified() // net.Listen listens on both families for 0.0.0.0, too
		}
		add(b)
	}
}

// listenerPath is the path of the address of a listener in the file.
func listenerPath(i int) string { return fmt.Sprintf("listeners[%d].address", i) }

// overlap reports whether a connection could arrive at both addresses.
func overlap(a, b netip.Addr) bool {
	covers := func(a, b netip.Addr) bool { return a.IsUnspecified() && (a.Is6() || b.Is4()) }
	return a == b || covers(a, b) || covers(b, a)
}

// inNumbers is an address whose zone, if it has one, is the number of the interface.
func inNumbers(ip netip.Addr) netip.Addr {
	if ip.Zone() == "" {
		return ip
	}
	if i, err := net.InterfaceByName(ip.Zone()); err == nil {
		return ip.WithZone(strconv.Itoa(i.Index))
	}
	return ip
}
