package main

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
func overlaps(cfg *config.Config, found addresses) (problems []config.Problem) {
	type bound struct {
		setting
		ip netip.Addr
	}
	ports := map[uint16][]bound{} // except port 0, which is any free port
	for _, s := range listening(cfg) {
		b := bound{s, inNumbers(found[s.Host])}
		if s.path == "metrics" && b.ip.IsUnspecified() {
			b.ip = netip.IPv6Unspecified() // net.Listen listens on both families for 0.0.0.0, too
		}
		for _, other := range ports[s.Port] {
			if overlap(b.ip, other.ip) {
				problems = append(problems, config.Problem{
					Path: s.path, Setting: s.key, Other: other.path,
					Text: fmt.Sprintf("%q overlaps %q: a connection could be for either", s.String(), other.String()),
				})
				break
			}
		}
		if s.Port != 0 {
			ports[s.Port] = append(ports[s.Port], b)
		}
	}
	return problems
}

// overlap reports whether a connection could arrive at both addresses.
func overlap(a, b netip.Addr) bool {
	covers := func(a, b netip.Addr) bool { return a.IsUnspecified() && (a.Is6() || b.Is4()) }
	return a == b || covers(a, b) || covers(b, a)
}

// inNumbers is an address whose zone, if it has one, is the number of the interface.
func inNumbers(ip netip.Addr) netip.Addr {
	if i, err := net.InterfaceByName(ip.Zone()); err == nil {
		return ip.WithZone(strconv.Itoa(i.Index))
	}
	return ip
}
