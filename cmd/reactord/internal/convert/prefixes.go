package convert

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// everywhere is all networks.
func everywhere() []config.Prefix {
	return []config.Prefix{{Prefix: netip.MustParsePrefix("0.0.0.0/0")}, {Prefix: netip.MustParsePrefix("::/0")}}
}

// parseNetwork reads an address, ADDRESS/BITS or ADDRESS/MASK; bits beyond the length do not count.
func parseNetwork(text string) (config.Prefix, bool) {
	text = strings.Trim(text, "[]")
	if ip, err := netip.ParseAddr(text); err == nil {
		if ip.Zone() != "" {
			return config.Prefix{}, false
		}
		ip = ip.Unmap()
		return config.Prefix{Prefix: netip.PrefixFrom(ip, ip.BitLen())}, true
	}
	address, length, _ := strings.Cut(text, "/")
	ip, err := netip.ParseAddr(address)
	if err != nil || ip.Zone() != "" {
		return config.Prefix{}, false
	}
	bits, err := strconv.Atoi(length)
	if err != nil {
		bits = maskBits(length)
	}
	if ip.Is4In6() {
		ip, bits = ip.Unmap(), bits-96
	}
	p, err := ip.Prefix(bits)
	return config.Prefix{Prefix: p}, err == nil
}

// maskBits returns the length of an IPv4 netmask, or -1.
func maskBits(text string) int {
	mask, err := netip.ParseAddr(text)
	if err != nil || !mask.Is4() {
		return -1
	}
	bits, ended := 0, false
	for _, b := range mask.As4() {
		for i := 7; i >= 0; i-- {
			switch one := b>>i&1 == 1; {
			case one && ended:
				return -1
			case one:
				bits++
			default:
				ended = true
			}
		}
	}
	return bits
}

// intersect returns the networks that are in both lists. A nil list has all.
func intersect(a, b []config.Prefix) []config.Prefix {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	both := []config.Prefix{}
	for _, x := range a {
		for _, y := range b {
			if !x.Overlaps(y.Prefix) {
				continue
			}
			if x.Bits() < y.Bits() {
				x = y
			}
			if !slices.Contains(both, x) {
				both = append(both, x)
			}
		}
	}
	return both
}

// overlap reports whether the lists have an address in common.
func overlap(a, b []config.Prefix) bool { return len(intersect(a, b)) > 0 }
