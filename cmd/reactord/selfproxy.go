package main

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// selfProxying finds listeners whose connections come back to them: a server of their backend is the listener itself,
// or another listener from which a server leads back. Each connection would open the next one until descriptors run
// out.
func selfProxying(cfg *config.Config, found addresses) (problems []config.Problem) {
	backends := map[string]int{}
	for i, b := range cfg.Backends {
		backends[b.Name] = i
	}
	local := localAddresses()
	leadsTo := func(s config.Address) (listeners []int) {
		for i, l := range cfg.Listeners {
			if l.Address.Port == s.Port && reaches(found[s.Host], found[l.Address.Host], local) {
				listeners = append(listeners, i)
			}
		}
		return listeners
	}
	for start := range cfg.Listeners {
		seen := map[int]bool{}
		var leadsBack func(listener int) bool
		leadsBack = func(listener int) bool {
			b := backends[cfg.Listeners[listener].Backend]
			for j, s := range cfg.Backends[b].Servers {
				for _, next := range leadsTo(s) {
					if next == start {
						const text = "%q leads back to the listener: its connections would be proxied in an endless loop"
						problems = append(problems, config.Problem{
							Path:    fmt.Sprintf("backends[%d].servers[%d]", b, j),
							Setting: "server",
							Text:    fmt.Sprintf(text, s.String()),
							Other:   fmt.Sprintf("listeners[%d].address", start),
						})
						return true
					}
					if !seen[next] {
						seen[next] = true
						if leadsBack(next) {
							return true
						}
					}
				}
			}
			return false
		}
		leadsBack(start)
	}
	return problems
}

// reaches reports whether connections to an address arrive at a listener on this machine.
func reaches(to, listener netip.Addr, local map[netip.Addr]bool) bool {
	to, listener = to.Unmap(), listener.Unmap()
	if !listener.IsUnspecified() {
		return inNumbers(to) == inNumbers(listener)
	}
	return (to.IsLoopback() || local[to.WithZone("")]) && overlap(to, listener)
}

// localAddresses is the addresses of the interfaces, as far as they can be read.
func localAddresses() map[netip.Addr]bool {
	all, _ := net.InterfaceAddrs()
	local := map[netip.Addr]bool{}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				local[ip.Unmap()] = true
			}
		}
	}
	return local
}
