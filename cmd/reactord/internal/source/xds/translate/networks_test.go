package translate

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

func network(text string) inNetworks { return inNetworks{netip.MustParsePrefix(text)} }

// TestNetworks compares the networks of random sets with what the sets say of addresses.
func TestNetworks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	leaves := []addresses{
		network("10.0.0.0/8"), network("10.1.0.0/16"), network("10.1.2.3/32"), network("0.0.0.0/0"), network("::/0"),
		network("2001:db8::/32"), network("2001:db8::1/128"), always(true), always(false),
	}
	var some func(depth int) addresses
	some = func(depth int) addresses {
		leaf := leaves[r.IntN(len(leaves))]
		if depth == 0 {
			return leaf
		}
		switch r.IntN(5) {
		case 0:
			return anyOf{some(depth - 1), some(depth - 1)}
		case 1:
			return allOf{some(depth - 1), some(depth - 1)}
		case 2:
			return not{some(depth - 1)}
		case 3:
			return firstOf{[]decision{{some(depth - 1), some(depth - 1)}, {some(depth - 1), some(depth - 1)}}, some(depth - 1)}
		}
		return leaf
	}
	for range 500 {
		s := some(3)
		allow, deny, ok := limits(s)
		if !ok {
			t.Fatalf("%v has too many networks", s)
		}
		for _, text := range []string{
			"10.0.0.1", "10.1.0.1", "10.1.2.3", "10.1.2.4", "11.0.0.0", "9.255.255.255", "2001:db8::1", "2001:db8::2", "::1",
		} {
			ip := netip.MustParseAddr(text)
			in := (len(allow) == 0 || inNetworks(allow).of(single(ip)) == all) && inNetworks(deny).of(single(ip)) == none
			if want := s.of(single(ip)) == all; in != want {
				t.Fatalf("%#v: %s is allowed: %v, and should be %v (allow %v, deny %v)", s, ip, in, want, allow, deny)
			}
		}
	}
}

func single(ip netip.Addr) netip.Prefix { return netip.PrefixFrom(ip, ip.BitLen()) }
