package netset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
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
			want, in := widest(list, ip)
			if got := s.Contains(ip); got != in {
				t.Fatalf("%v in %v: %v", ip, list, got)
			}
			if got, found := s.Match(ip); got != want || found != in {
				t.Fatalf("%v is in %v of %v, want %v", ip, got, list, want)
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

// widest returns the widest network of a list that contains an address.
func widest(list []netip.Prefix, ip netip.Addr) (best netip.Prefix, in bool) {
	for _, p := range list {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		if p.Contains(ip.Unmap().WithZone("")) && (!in || p.Bits() < best.Bits()) {
			best, in = p.Masked(), true
		}
	}
	return best, in
}

// TestIndexed compares a set that is large enough for an index with a list, at the edges of the networks.
func TestIndexed(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	list := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/32"), netip.MustParsePrefix("255.255.0.0/16")}
	for range 2 * indexed {
		list = append(list, netip.PrefixFrom(random4(r), 8+r.IntN(25)))
	}
	list = slices.DeleteFunc(list, func(p netip.Prefix) bool { return p.Bits() < 12 && r.IntN(50) != 0 })
	s := New(list)
	if s.index == nil {
		t.Fatal("the set has no index")
	}
	check := func(ip netip.Addr) {
		want, in := widest(list, ip)
		if got, found := s.Match(ip); got != want || found != in || s.Contains(ip) != in {
			t.Fatalf("%v is in %v, want %v", ip, got, want)
		}
	}
	for _, p := range list[:300] {
		for _, ip := range []netip.Addr{p.Masked().Addr(), last(p)} {
			check(ip)
			check(ip.Prev())
			check(ip.Next())
		}
	}
	for range 300 {
		check(random4(r))
	}
}

// TestBinary wants a set to be read as it was written, and nothing else.
func TestBinary(t *testing.T) {
	for _, s := range []*Set{nil, New(prefixes("10.0.0.0/8", "192.0.2.1/32")), New(prefixes("2001:db8::/32")),
		New(prefixes("0.0.0.0/0", "::/0", "fe80::1/128"))} {
		b, _ := s.AppendBinary(nil)
		got, ok := Parse(b)
		if again, _ := got.AppendBinary(nil); !ok || got.Len() != s.Len() || !bytes.Equal(again, b) {
			t.Errorf("%v, %v, not %v", got, ok, s)
		}
		for cut := range b {
			if got, ok := Parse(b[:cut]); ok && got.Len() == s.Len() && s.Len() != 0 {
				t.Errorf("%d of %d bytes are the set", cut, len(b))
			}
		}
	}
	if _, ok := Parse([]byte{1, 10, 0, 0, 0, 33}); ok {
		t.Error("a network of 33 bits is one")
	}
}

// FuzzParse wants what is read to be a set.
func FuzzParse(f *testing.F) {
	b, _ := New(prefixes("10.0.0.0/8", "2001:db8::/32")).AppendBinary(nil)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := Parse(b); ok {
			again, _ := s.AppendBinary(nil)
			if got, ok := Parse(again); !ok || got.Len() != s.Len() {
				t.Fatalf("%v, not %v", got, s)
			}
		}
	})
}

// TestBytes wants a set to take no more memory than it says.
func TestBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var before, after runtime.MemStats
	var b Builder
	for range 300_000 {
		b.Add(netip.PrefixFrom(random4(r), 32))
		b.Add(netip.PrefixFrom(random6(r), 64))
	}
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := b.Set() // which empties the builder
	runtime.GC()
	runtime.ReadMemStats(&after)
	const builder = 300_000 * (8 + 24)
	if took := int(after.HeapAlloc) - int(before.HeapAlloc) + builder; took > s.Bytes()+s.Bytes()/4 {
		t.Errorf("it takes %d bytes, and says %d", took, s.Bytes())
	}
	if s.Bytes() > 300_000*22+300_000 {
		t.Errorf("it takes %d bytes for %d networks", s.Bytes(), s.Len())
	}
	runtime.KeepAlive(s)
}

func random4(r *rand.Rand) netip.Addr {
	var ip [4]byte
	binary.BigEndian.PutUint32(ip[:], r.Uint32())
	return netip.AddrFrom4(ip)
}

func random6(r *rand.Rand) netip.Addr {
	var ip [16]byte
	binary.BigEndian.PutUint64(ip[:], 0x2000<<48|r.Uint64()>>3)
	binary.BigEndian.PutUint64(ip[8:], r.Uint64())
	return netip.AddrFrom16(ip)
}

func TestContainsDoesNotAllocate(t *testing.T) {
	s := New(prefixes("10.0.0.0/8", "2001:db8::/32"))
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("2001:db8::1")
	if n := testing.AllocsPerRun(100, func() { s.Contains(a); s.Contains(b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkContains looks up random addresses, of which few are in the set, and says how much memory the set takes.
func BenchmarkContains(b *testing.B) {
	for _, family := range []struct {
		name   string
		length int
		random func(*rand.Rand) netip.Addr
	}{{"IPv4", 32, random4}, {"IPv6", 64, random6}} {
		for _, n := range []int{100, 10_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", family.name, n), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				var of Builder
				for range n {
					of.Add(netip.PrefixFrom(family.random(r), family.length))
				}
				asked := make([]netip.Addr, 1<<16)
				for i := range asked {
					asked[i] = family.random(r)
				}
				s := of.Set()
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					s.Contains(asked[i&(1<<16-1)])
					i++
				}
				b.ReportMetric(float64(s.Bytes()), "bytes")
			})
		}
	}
}

// BenchmarkBuild builds a set of a million networks.
func BenchmarkBuild(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([]netip.Prefix, 1_000_000)
	for i := range list {
		list[i] = netip.PrefixFrom(random4(r), 32)
	}
	b.ReportAllocs()
	for b.Loop() {
		New(list)
	}
}
