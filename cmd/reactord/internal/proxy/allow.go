package proxy

import (
	"net/netip"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/netset"
)

// allowed reports whether clients of an address may connect: they are in the networks that may, if there are any, and
// not in those that may not.
func (s *settings) allowed(ip netip.Addr) bool {
	return (s.allow == nil || s.allow.Contains(ip)) && (s.deny == nil || !s.deny.Contains(ip))
}

// admitted is [settings.allowed] for the address of a socket that was accepted. If a PROXY header is to tell the
// client's address, that one counts.
func (s *settings) admitted(ip netip.Addr) bool { return s.trusted != nil || s.allowed(ip) }

// networks is a set of networks; nil if there are none.
func networks(all []config.Prefix) *netset.Set {
	if len(all) == 0 {
		return nil
	}
	prefixes := make([]netip.Prefix, len(all))
	for i, p := range all {
		prefixes[i] = p.Prefix
	}
	return netset.New(prefixes)
}
