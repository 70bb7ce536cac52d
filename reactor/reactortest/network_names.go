package reactortest

import (
	"context"
	"net"
	"net/netip"
)

// LookupNetIP finds the addresses of a machine of the network by its name, so that a Machine is the Resolver of a
// [reactor.Dialer]. For a name that no machine has it returns a *net.DNSError. network is "ip", "ip4" or "ip6". It
// takes no time.
func (m *Machine) LookupNetIP(ctx context.Context, network, host string) (addrs []netip.Addr, err error) {
	m.use()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, other := range m.r.machines {
		if other.name != host {
			continue
		}
		if network != "ip4" {
			addrs = append(addrs, other.addr6)
		}
		if network != "ip6" {
			addrs = append(addrs, other.addr4)
		}
	}
	if addrs == nil {
		return nil, &net.DNSError{Err: "no machine of the simulated network has this name", Name: host, IsNotFound: true}
	}
	return addrs, nil
}
