// Package netset implements sets of networks, from a few to millions.
//
// A [Set] is immutable, so it may be used from any thread. [Set.Contains] does not allocate. A set takes 5 bytes for
// an IPv4 network and 17 for an IPv6 one, and 256 KiB in addition if it has many of IPv4.
//
// IPv4-mapped IPv6 addresses (::ffff:0:0/96) are IPv4 addresses, both in networks and in queries. An IPv6 network
// that covers all of them, such as ::/0, contains no IPv4 address. Zones are ignored.
package netset

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
	"unsafe"
)

// Set is a set of networks. A nil Set is empty.
type Set struct {
	ipv4  networks[uint32]
	ipv6  networks[uint128]
	index []uint32 // by the upper 16 bits of an IPv4 address: how many networks begin below them; nil if there are few
}

// networks are networks in order, none of which is in another one.
type networks[N any] struct {
	first  []N // the first addresses
	length []uint8
}

type uint128 struct{ high, low uint64 }

func compare128(a, b uint128) int {
	if a.high != b.high {
		return cmp.Compare(a.high, b.high)
	}
	return cmp.Compare(a.low, b.low)
}

// indexed is how many IPv4 networks deserve an index.
const indexed = 1 << 12

// Builder collects the networks of a [Set]. The zero Builder is ready for use, by one goroutine.
type Builder struct {
	ipv4 []uint64 // the address in front of the length, which has 8 bits
	ipv6 []network6
}

type network6 struct {
	first  uint128
	length uint8
}

// Add adds a network. An invalid one is ignored, and so are bits beyond its length.
func (b *Builder) Add(p netip.Prefix) {
	ip, bits := p.Addr(), p.Bits()
	if ip.Is4In6() && bits >= 96 {
		ip, bits = ip.Unmap(), bits-96
	}
	switch {
	case bits < 0:
	case ip.Is4():
		b.ipv4 = append(b.ipv4, uint64(number4(ip)&^rest4(uint8(bits)))<<8|uint64(bits))
	default:
		n, rest := number6(ip), rest6(uint8(bits))
		b.ipv6 = append(b.ipv6, network6{uint128{n.high &^ rest.high, n.low &^ rest.low}, uint8(bits)})
	}
}

// Len returns how many networks were added.
func (b *Builder) Len() int { return len(b.ipv4) + len(b.ipv6) }

// Set returns the set of the networks, and empties the builder. Networks that are in another one are left out.
func (b *Builder) Set() *Set {
	s := &Set{}
	slices.Sort(b.ipv4)
	ordered(&s.ipv4, len(b.ipv4), func(i int) (first, last uint32, length uint8) {
		first, length = uint32(b.ipv4[i]>>8), uint8(b.ipv4[i])
		return first, first | rest4(length), length
	}, cmp.Compare[uint32])
	slices.SortFunc(b.ipv6, func(x, y network6) int {
		return cmp.Or(compare128(x.first, y.first), cmp.Compare(x.length, y.length))
	})
	ordered(&s.ipv6, len(b.ipv6), func(i int) (first, last uint128, length uint8) {
		n := b.ipv6[i]
		rest := rest6(n.length)
		return n.first, uint128{n.first.high | rest.high, n.first.low | rest.low}, n.length
	}, compare128)
	*b = Builder{}
	s.makeIndex()
	return s
}

// ordered fills networks from n sorted ones, of which those that begin at the same address have the shortest length
// first. Networks overlap only if one is in the other.
func ordered[N any](
	to *networks[N], n int, at func(i int) (first, last N, length uint8), compare func(a, b N) int,
) {
	kept := func(f func(first N, length uint8)) {
		var end N
		for i := range n {
			first, last, length := at(i)
			if i == 0 || compare(first, end) > 0 {
				f(first, length)
				end = last
			}
		}
	}
	count := 0
	kept(func(N, uint8) { count++ })
	to.first, to.length = make([]N, 0, count), make([]uint8, 0, count)
	kept(func(first N, length uint8) {
		to.first, to.length = append(to.first, first), append(to.length, length)
	})
}

// makeIndex makes the index of the IPv4 networks.
func (s *Set) makeIndex() {
	if len(s.ipv4.first) < indexed {
		return
	}
	s.index = make([]uint32, 1<<16+1)
	next := 0
	for i, first := range s.ipv4.first {
		for ; next <= int(first>>16); next++ {
			s.index[next] = uint32(i)
		}
	}
	for ; next < len(s.index); next++ {
		s.index[next] = uint32(len(s.ipv4.first))
	}
}

// New returns the set of these networks, which may overlap: see [Builder.Add].
func New(networks []netip.Prefix) *Set {
	var b Builder
	for _, p := range networks {
		b.Add(p)
	}
	return b.Set()
}

// rest4 returns the host bits of an IPv4 network.
func rest4(length uint8) uint32 { return uint32(uint64(1)<<(32-length) - 1) }

// rest6 returns the host bits of an IPv6 network.
func rest6(length uint8) uint128 {
	if length < 64 {
		return uint128{1<<(64-length) - 1, 1<<64 - 1}
	}
	return uint128{0, 1<<(128-length) - 1}
}

// Contains reports whether an address is in one of the networks. The zero Addr is in none.
func (s *Set) Contains(ip netip.Addr) bool {
	if s == nil || !ip.IsValid() {
		return false
	}
	if ip.Is4() || ip.Is4In6() {
		return s.find4(number4(ip)) >= 0
	}
	return s.find6(number6(ip)) >= 0
}

// Match returns the widest of the networks that contain an address, or false if none does.
func (s *Set) Match(ip netip.Addr) (netip.Prefix, bool) {
	if s == nil || !ip.IsValid() {
		return netip.Prefix{}, false
	}
	if ip.Is4() || ip.Is4In6() {
		if i := s.find4(number4(ip)); i >= 0 {
			p, err := ip.Unmap().Prefix(int(s.ipv4.length[i]))
			return p, err == nil
		}
		return netip.Prefix{}, false
	}
	if i := s.find6(number6(ip)); i >= 0 {
		p, err := ip.WithZone("").Prefix(int(s.ipv6.length[i]))
		return p, err == nil
	}
	return netip.Prefix{}, false
}

// Len returns how many networks there are, without those that are in another one.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.ipv4.first) + len(s.ipv6.first)
}

// Bytes returns the memory that the networks take.
func (s *Set) Bytes() int {
	if s == nil {
		return 0
	}
	return s.ipv4.bytes() + s.ipv6.bytes() + 4*cap(s.index)
}

func (n *networks[N]) bytes() int {
	var one N
	return int(unsafe.Sizeof(one))*cap(n.first) + cap(n.length)
}

// Empty reports whether the set contains no address.
func (s *Set) Empty() bool { return s.Len() == 0 }

// find4 returns the index of the network that contains an IPv4 address, or -1: it is the last one that begins at or
// before the address, or none.
func (s *Set) find4(n uint32) int {
	low, high := 0, len(s.ipv4.first)
	if s.index != nil {
		low, high = int(s.index[n>>16]), int(s.index[n>>16+1])
	}
	for low < high {
		middle := int(uint(low+high) / 2)
		if s.ipv4.first[middle] <= n {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 || n > s.ipv4.first[low-1]|rest4(s.ipv4.length[low-1]) {
		return -1
	}
	return low - 1
}

// find6 returns the index of the network that contains an IPv6 address, or -1.
func (s *Set) find6(n uint128) int {
	low, high := 0, len(s.ipv6.first)
	for low < high {
		middle := int(uint(low+high) / 2)
		if compare128(s.ipv6.first[middle], n) <= 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 {
		return -1
	}
	first, rest := s.ipv6.first[low-1], rest6(s.ipv6.length[low-1])
	if compare128(n, uint128{first.high | rest.high, first.low | rest.low}) > 0 {
		return -1
	}
	return low - 1
}

func number4(ip netip.Addr) uint32 {
	b := ip.Unmap().As4()
	return binary.BigEndian.Uint32(b[:])
}

func number6(ip netip.Addr) uint128 {
	b := ip.As16()
	return uint128{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// AppendBinary appends the networks in a form that [Parse] reads: 5 bytes for each of IPv4, and 17 for each of IPv6.
func (s *Set) AppendBinary(b []byte) ([]byte, error) {
	if s == nil {
		s = &Set{}
	}
	b = binary.AppendUvarint(b, uint64(len(s.ipv4.first)))
	for i, first := range s.ipv4.first {
		b = append(binary.BigEndian.AppendUint32(b, first), s.ipv4.length[i])
	}
	for i, first := range s.ipv6.first {
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, first.high), first.low)
		b = append(b, s.ipv6.length[i])
	}
	return b, nil
}

// Parse returns the set that [Set.AppendBinary] has written, or false if the bytes are none.
func Parse(b []byte) (*Set, bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)/5) {
		return nil, false
	}
	b = b[used:]
	var of Builder
	for size := 4; len(b) > 0; n-- {
		if n == 0 {
			size = 16 // of the rest
		}
		if len(b) <= size {
			return nil, false
		}
		ip, _ := netip.AddrFromSlice(b[:size])
		p := netip.PrefixFrom(ip, int(b[size]))
		if !p.IsValid() {
			return nil, false
		}
		of.Add(p)
		b = b[size+1:]
	}
	return of.Set(), true
}
