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
	hops := hopsOf(cfg, found)
	for i := range cfg.Listeners {
		if h := hopBack(hops, i); h != nil {
			problems = append(problems, config.Problem{
				Path: h.server.path, Setting: h.server.key, Other: fmt.Sprintf("listeners[%d].address", i),
				Text: fmt.Sprintf("%q leads back to the listener: its connections would be proxied in an endless loop",
					h.server.String()),
			})
		}
	}
	return problems
}

// hop is a server that is a listener of this configuration.
type hop struct {
	server   setting
	listener int
}

// hopsOf is the hops of the backend of each listener.
func hopsOf(cfg *config.Config, found addresses) [][]hop {
	hops, local := make([][]hop, len(cfg.Listeners)), localAddresses()
	for i, from := range cfg.Listeners {
		for _, s := range serversOf(cfg, from.Backend) {
			for j, to := range cfg.Listeners {
				if to.Address.Port == s.Port && reaches(found[s.Host], found[to.Address.Host], local) {
					hops[i] = append(hops[i], hop{s, j})
				}
			}
		}
	}
	return hops
}

// hopBack is the hop by which connections come back to a listener; nil: they do not.
func hopBack(hops [][]hop, listener int) *hop {
	seen := make([]bool, len(hops))
	for queue := []int{listener}; len(queue) != 0; queue = queue[1:] {
		for i := range hops[queue[0]] {
			h := &hops[queue[0]][i]
			if h.listener == listener {
				return h
			}
			if !seen[h.listener] {
				seen[h.listener] = true
				queue = append(queue, h.listener)
			}
		}
	}
	return nil
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
