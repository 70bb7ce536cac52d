package translate

import (
	"net/netip"
	"slices"
)

// addresses is a set of addresses. of returns how much of a network it contains.
type addresses interface{ of(netip.Prefix) part }

// part is the extent to which a set contains a network.
type part uint8

const (
	none part = iota
	some      // or unknown before the network is split
	all
)

// inNetworks is the addresses of networks.
type inNetworks []netip.Prefix

func (s inNetworks) of(p netip.Prefix) part {
	out := none
	for _, n := range s {
		if !n.Overlaps(p) {
			continue
		}
		if n.Bits() <= p.Bits() {
			return all
		}
		out = some
	}
	return out
}

// always is every address, or none.
type always bool

func (s always) of(netip.Prefix) part {
	if s {
		return all
	}
	return none
}

// anyOf is a union, allOf an intersection, and not a complement.
type (
	anyOf []addresses
	allOf []addresses
	not   struct{ addresses }
)

func (s anyOf) of(p netip.Prefix) part {
	out := none
	for _, one := range s {
		if out = max(out, one.of(p)); out == all {
			break
		}
	}
	return out
}

func (s allOf) of(p netip.Prefix) part {
	out := all
	for _, one := range s {
		if out = min(out, one.of(p)); out == none {
			break
		}
	}
	return out
}

func (s not) of(p netip.Prefix) part { return all - s.addresses.of(p) }

// firstOf is decided by the first case that contains an address, or else by last.
type firstOf struct {
	cases []decision
	last  addresses
}

// decision says that an address of the set when is in the result if it is in then.
type decision struct{ when, then addresses }

func (s firstOf) of(p netip.Prefix) part {
	out, begun := none, false
	add := func(more part) {
		if begun && more != out {
			more = some
		}
		out, begun = more, true
	}
	for _, c := range s.cases {
		switch c.when.of(p) {
		case all:
			add(c.then.of(p))
			return out
		case some:
			add(c.then.of(p))
		case none:
		}
	}
	add(s.last.of(p))
	return out
}

// maxNetworks limits the networks of a set: beyond it, something is wrong.
const maxNetworks = 100_000

// networks returns the set as sorted networks, or false if there are too many.
func networks(s addresses) ([]netip.Prefix, bool) {
	var out []netip.Prefix
	steps := 0
	var divide func(p netip.Prefix)
	divide = func(p netip.Prefix) {
		if steps++; steps > maxNetworks {
			return
		}
		switch s.of(p) {
		case none:
		case all:
			out = append(out, p)
		case some:
			if p.IsSingleIP() {
				return // only for a set that cannot tell
			}
			n := len(out)
			low, high := netip.PrefixFrom(p.Addr(), p.Bits()+1), netip.PrefixFrom(upper(p), p.Bits()+1)
			divide(low)
			divide(high)
			if slices.Equal(out[n:], []netip.Prefix{low, high}) {
				out = append(out[:n], p)
			}
		}
	}
	for _, p := range everywhere {
		divide(p)
	}
	return out, steps <= maxNetworks
}

// upper returns the first address of the upper half of a network.
func upper(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	b[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	a, _ := netip.AddrFromSlice(b)
	return a
}

// limits returns the set as allowed or else denied networks, whichever is shorter. Every address is allowed if both
// are empty.
func limits(s addresses) (allow, deny []netip.Prefix, ok bool) {
	allow, ok = networks(s)
	deny, ok2 := networks(not{s})
	switch {
	case !ok || !ok2:
		return nil, nil, false
	case len(allow) == 0 || len(deny) < len(allow): // an empty allow would allow every address
		return nil, deny, true
	}
	return allow, nil, true
}
