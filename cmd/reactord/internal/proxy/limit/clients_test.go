package limit

import (
	"net/netip"
	"testing"
)

// An address has its own buckets while it has connections, whatever others come and go; and as many addresses as like
// to come do not make the table larger.
func TestClients(t *testing.T) {
	s := NewClients()
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	mine := s.Acquire(address(0), 0)
	for i := 1; i < 1<<18; i++ {
		s.Acquire(address(i), 0).Release()
	}
	if again := s.Acquire(address(0), 0); again != mine {
		t.Error("an address has two entries")
	}
	prefix := netip.MustParseAddr("2001:db8::1")
	if s.Acquire(prefix, 0) != s.Acquire(prefix.Next(), 0) {
		t.Error("addresses of one /64 have two entries")
	}
	_ = s.Acquire(netip.Addr{}, 0) // a unix socket
}

func BenchmarkClients(b *testing.B) {
	s := NewClients()
	for i := 0; b.Loop(); i++ {
		s.Acquire(netip.AddrFrom4([4]byte{1, 2, byte(i >> 8), byte(i)}), 0).Release()
	}
}
