// Package netset implements sets of networks.
//
// A [Set] is immutable, so it may be used from any thread. [Set.Contains] is a binary search: it does not allocate,
// and takes about 0.1 µs with ten thousand networks.
//
// IPv4-mapped IPv6 addresses (::ffff:0:0/96) are IPv4 addresses, both in networks and in queries. An IPv6 network
// that covers all of them, such as ::/0, contains no IPv4 address. Zones are ignored.
package netset

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
)

// Set is a set of networks. A nil Set is empty.
type Set struct {
	ipv4 []span[uint32]
	ipv6 []span6
}

// span is the addresses from first to last. Those of a set are ordered and have gaps between them.
type span[T any] struct{ first, last T }

type span6 = span[uint128]

type uint128 struct{ high, low uint64 }

func compare128(a, b uint128) int {
	if a.high != b.high {
		return cmp.Compare(a.high, b.high)
	}
	return cmp.Compare(a.low, b.low)
}

// New returns the set of these networks, which may overlap. Invalid prefixes are ignored, and so are bits beyond the
// length of a prefix.
func New(networks []netip.Prefix) *Set {
	s := &Set{}
	for _, p := range networks {
		ip, bits := p.Addr(), p.Bits()
		if ip.Is4In6() && bits >= 96 {
			ip, bits = ip.Unmap(), bits-96
		}
		switch {
		case bits < 0:
		case ip.Is4():
			rest := uint32(uint64(1)<<(32-bits) - 1)
			s.ipv4 = append(s.ipv4, span[uint32]{number4(ip) &^ rest, number4(ip) | rest})
		default:
			n, rest := number6(ip), rest6(bits)
			s.ipv6 = append(s.ipv6, span6{
				uint128{n.high &^ rest.high, n.low &^ rest.low}, uint128{n.high | rest.high, n.low | rest.low},
			})
		}
	}
	s.ipv4 = merged(s.ipv4, cmp.Compare[uint32])
	s.ipv6 = merged(s.ipv6, compare128)
	return s
}

// rest6 returns the host bits of an IPv6 prefix.
func rest6(bits int) uint128 {
	if bits < 64 {
		return uint128{1<<(64-bits) - 1, 1<<64 - 1}
	}
	return uint128{0, 1<<(128-bits) - 1}
}

// merged sorts spans, and joins those that overlap.
func merged[T any](all []span[T], compare func(a, b T) int) []span[T] {
	slices.SortFunc(all, func(a, b span[T]) int { return compare(a.first, b.first) })
	out := all[:0]
	for _, s := range all {
		if n := len(out); n == 0 || compare(out[n-1].last, s.first) < 0 {
			out = append(out, s)
		} else if compare(out[n-1].last, s.last) < 0 {
			out[n-1].last = s.last
		}
	}
	return slices.Clip(out)
}

// Contains reports whether an address is in one of the networks. The zero Addr is in none.
func (s *Set) Contains(ip netip.Addr) bool {
	if s == nil || !ip.IsValid() {
		return false
	}
	if ip.Is4() || ip.Is4In6() {
		return contains(s.ipv4, number4(ip), cmp.Compare[uint32])
	}
	return contains(s.ipv6, number6(ip), compare128)
}

// Empty reports whether the set contains no address.
func (s *Set) Empty() bool { return s == nil || len(s.ipv4)+len(s.ipv6) == 0 }

// contains finds the last span that begins at or before n.
func contains[T any](all []span[T], n T, compare func(a, b T) int) bool {
	low, high := 0, len(all)
	for low < high {
		middle := int(uint(low+high) / 2)
		if compare(all[middle].first, n) <= 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low > 0 && compare(n, all[low-1].last) <= 0
}

func number4(ip netip.Addr) uint32 {
	b := ip.Unmap().As4()
	return binary.BigEndian.Uint32(b[:])
}

func number6(ip netip.Addr) uint128 {
	b := ip.As16()
	return uint128{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}
