package balance

import (
	"encoding/binary"
	"net/netip"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// The hashes are fixed: all processes of a fleet and all versions of the program choose alike.

// mix applies a bijection of 64 bits, in which each bit of x changes half of the result: the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func hashAddr(a netip.Addr) uint64 {
	b := a.As16()
	return mix(mix(binary.BigEndian.Uint64(b[:8])) ^ binary.BigEndian.Uint64(b[8:]))
}

func hashServer(a serveraddr.Addr) uint64 {
	if a.IsUnix() {
		return hashString(a.Path())
	}
	return mix(hashAddr(a.IP()) ^ uint64(a.Port()))
}

func hashString(s string) uint64 {
	h := uint64(len(s))
	for i := range len(s) {
		h = mix(h ^ uint64(s[i]))
	}
	return h
}

// hashClient hashes the prefix of a client's address that the settings select.
func (g *Group) hashClient(a netip.Addr) uint64 {
	a = a.Unmap()
	bits := g.ipv6Prefix
	if a.Is4() {
		bits = g.ipv4Prefix
	}
	p, err := a.Prefix(bits)
	if err != nil { // no address
		return 0
	}
	return hashAddr(p.Addr())
}
