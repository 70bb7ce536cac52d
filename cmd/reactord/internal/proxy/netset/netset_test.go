package netset

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, s := range texts {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

func TestContains(t *testing.T) {
	s := New(prefixes("10.0.0.0/8", "10.1.0.0/16", "192.0.2.1/32", "::ffff:198.51.100.0/120", "2001:db8::/32", "fe80::/10",
		"11.0.0.0/8"))
	for text, want := range map[string]bool{
		"10.0.0.0": true, "10.255.255.255": true, "9.255.255.255": false, "11.255.255.255": true, "12.0.0.0": false,
		"192.0.2.1": true, "192.0.2.0": false, "192.0.2.2": false, "::ffff:192.0.2.1": true, "198.51.100.7": true,
		"198.51.101.0": false, "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff": true, "2001:db9::": false, "::1": false,
		"fe80::1%2": true, "0.0.0.0": false, "255.255.255.255": false,
	} {
		if got := s.Contains(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	everything := New(prefixes("0.0.0.0/0", "::/0"))
	for _, text := range []string{"0.0.0.0", "255.255.255.255", "::", "::1", "::ffff:1.2.3.4", "ffff::"} {
		if !everything.Contains(netip.MustParseAddr(text)) {
			t.Errorf("%s is not in everything", text)
		}
	}
	if New(prefixes("::/0")).Contains(netip.MustParseAddr("::ffff:1.2.3.4")) {
		t.Error("an IPv4 address is in ::/0")
	}
}

func TestEmpty(t *testing.T) {
	for _, s := range []*Set{nil, New(nil), New([]netip.Prefix{{}})} {
		if !s.Empty() || s.Contains(netip.MustParseAddr("::")) || s.Contains(netip.Addr{}) {
			t.Errorf("%v is not empty", s)
		}
	}
	s := New(prefixes("0.0.0.0/0", "::/0"))
	if s.Empty() || s.Contains(netip.Addr{}) {
		t.Error("no address is in a set")
	}
}

// FuzzContains compares a set with a list of networks.
func FuzzContains(f *testing.F) {
	f.Add([]byte{4, 8, 10, 0, 0, 0, 4, 9, 10, 128, 0, 0, 4, 33, 1, 2, 3, 4}, []byte{10, 200, 0, 1})
	f.Add([]byte{6, 10, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, []byte{0xfe, 0xbf})
	f.Add([]byte{6, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 1, 2, 3, 4}, []byte{1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, networks, asked []byte) {
		list := decode(networks)
		s := New(list)
		check := func(ip netip.Addr) {
			if got, want := s.Contains(ip), inList(list, ip); got != want {
				t.Fatalf("%v in %v: %v", ip, list, got)
			}
		}
		for _, ip := range []netip.Addr{address(asked, 4), address(asked, 16)} {
			check(ip)
		}
		for _, p := range list { // the edges are where it can be wrong
			for _, ip := range []netip.Addr{p.Addr(), last(p)} {
				check(ip)
				check(ip.Next())
				check(ip.Prev())
			}
		}
	})
}

// decode makes prefixes of a byte for the family, one for the length, and those of an address.
func decode(b []byte) (all []netip.Prefix) {
	for len(b) >= 2 && len(all) < 64 {
		size := 4
		if b[0]&2 != 0 {
			size = 16
		}
		bits := int(b[1]) % (size*8 + 1)
		all = append(all, netip.PrefixFrom(address(b[2:], size), bits))
		b = b[min(2+size, len(b)):]
	}
	return all
}

func address(b []byte, size int) netip.Addr {
	full := make([]byte, size)
	copy(full, b)
	ip, _ := netip.AddrFromSlice(full)
	return ip
}

func last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	ip, _ := netip.AddrFromSlice(b)
	return ip
}

func inList(list []netip.Prefix, ip netip.Addr) bool {
	for _, p := range list {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		if p.Contains(ip.Unmap()) {
			return true
		}
	}
	return false
}

func TestContainsDoesNotAllocate(t *testing.T) {
	s := New(prefixes("10.0.0.0/8", "2001:db8::/32"))
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("2001:db8::1")
	if n := testing.AllocsPerRun(100, func() { s.Contains(a); s.Contains(b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkContains(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	networks, asked := make([]netip.Prefix, 10_000), make([]netip.Addr, 1024)
	random := func() netip.Addr {
		var ip [4]byte
		binary.BigEndian.PutUint32(ip[:], r.Uint32())
		return netip.AddrFrom4(ip)
	}
	for i := range networks {
		networks[i] = netip.PrefixFrom(random(), 24)
	}
	for i := range asked {
		asked[i] = random()
	}
	s := New(networks)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		s.Contains(asked[i&1023])
		i++
	}
}
