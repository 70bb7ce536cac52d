package limit

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

func sourceRate(connections, burst, n int) config.SourceRate {
	return config.SourceRate{Connections: connections, Burst: burst, IPv4Prefix: 24, IPv6Prefix: 64, Sources: n}
}

func TestPrefixesHaveBucketsOfTheirOwn(t *testing.T) {
	s := NewPrefixes(sourceRate(10, 3, 1000))
	taken := func(addr string, now int64) (n int) {
		for range 100 {
			if s.Take(netip.MustParseAddr(addr), now) {
				n++
			}
		}
		return n
	}
	now := int64(time.Hour)
	for _, test := range []struct {
		addr string
		want int
	}{
		{"192.0.2.1", 3}, {"192.0.2.200", 0}, {"192.0.3.1", 3}, {"::ffff:192.0.3.2", 0},
		{"2001:db8::1", 3}, {"2001:db8::2", 0}, {"2001:db8:0:1::1", 3},
	} {
		if got := taken(test.addr, now); got != test.want {
			t.Errorf("%s: %d connections, want %d", test.addr, got, test.want)
		}
	}
	if got := taken("192.0.2.7", now+int64(time.Second/5)); got != 2 {
		t.Errorf("%d connections after a refill, want 2", got)
	}
	if got := taken("192.0.2.7", now+int64(1000*24*time.Hour)); got != 3 {
		t.Errorf("%d connections after years, want 3", got)
	}
}

// A prefix whose bucket is not full keeps its entry while others have a full one.
func TestPrefixesEvictTheFullest(t *testing.T) {
	s := NewPrefixes(sourceRate(1, 2, 1)) // one set
	addr := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i), 1}) }
	now := int64(time.Hour)
	for s.Take(addr(0), now) {
	}
	for i := 1; i < 1000; i++ { // each begins with a full bucket, which has one less than before
		s.Take(addr(i), now)
	}
	if s.Take(addr(0), now) {
		t.Error("the prefix that has used its burst was forgotten")
	}
}

func TestPrefixesAreExact(t *testing.T) {
	s := NewPrefixes(sourceRate(1, 100, 64))
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if s.Take(netip.MustParseAddr("10.0.0.1"), 1) {
					taken.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := taken.Load(); n != 100 {
		t.Errorf("%d were taken, want 100", n)
	}
}

func TestPrefixesTakeNoMemory(t *testing.T) {
	s := NewPrefixes(sourceRate(10, 3, 1000))
	client := netip.MustParseAddr("2001:db8::1")
	if n := testing.AllocsPerRun(100, func() { s.Take(client, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPrefixes(b *testing.B) {
	s := NewPrefixes(sourceRate(1<<20, 1<<20, 1<<16))
	client := netip.MustParseAddr("192.0.2.1")
	for i := 0; b.Loop(); i++ {
		s.Take(client, int64(i)*1000)
	}
}

// More prefixes connect than the table remembers.
func BenchmarkPrefixesFlood(b *testing.B) {
	p := NewPrefixes(sourceRate(10, 10, 1<<16))
	for i := 0; b.Loop(); i++ {
		p.Take(netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1}), int64(i)*10)
	}
}
