package main

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// overlaps finds what is listened on twice, in whatever words: the kernel would spread connections over both. An
// address for every host of its family overlaps each of them, although the kernel prefers the one that is more
// specific: which backend serves a client would depend on the address that it happened to use. [::] is every address,
// of IPv4 as well.
func overlaps(cfg *config.Config, found addresses) (problems []config.Problem) {
	type bound struct {
		setting
		ip netip.Addr
	}
	ports := map[uint16][]bound{} // port 0 is a free one
	for _, s := range listening(cfg) {
		b := bound{s, inNumbers(found[s.Host])}
		if s.path == "metrics" && b.ip.IsUnspecified() {
			b.ip = netip.IPv6Unspecified() // net.Listen takes both families for 0.0.0.0 as well
		}
		for _, other := range ports[s.Port] {
			if overlap(b.ip, other.ip) {
				problems = append(problems, config.Problem{
					Path: s.path, Other: other.path,
					Text: fmt.Sprintf("%s %q overlaps %q: a connection could be for either", s.key, s.String(), other.String()),
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

// overlap reports whether there is an address that both are for.
func overlap(a, b netip.Addr) bool {
	covers := func(a, b netip.Addr) bool { return a.IsUnspecified() && (a.Is6() || b.Is4()) }
	return a == b || covers(a, b) || covers(b, a)
}

// inNumbers is an address with its zone, if it has one, as the number of the interface.
func inNumbers(ip netip.Addr) netip.Addr {
	if i, err := net.InterfaceByName(ip.Zone()); err == nil {
		return ip.WithZone(strconv.Itoa(i.Index))
	}
	return ip
}
