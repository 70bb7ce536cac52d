package limit

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

func countSources(sources int) *Sources {
	var none *Sources
	return none.Renew(config.SourceConnections{Max: 1, IPv4Prefix: 24, IPv6Prefix: 64, Sources: sources})
}

func TestSourcesAreCountedByPrefix(t *testing.T) {
	s := countSources(1000)
	held := map[string]Source{}
	for _, test := range []struct {
		address string
		ok      bool
	}{
		{"192.0.2.1", true}, {"192.0.2.200", true}, {"192.0.2.3", false}, {"::ffff:192.0.2.4", false}, {"192.0.3.1", true},
		{"2001:db8::1", true}, {"2001:db8::2", true}, {"2001:db8::3", false}, {"2001:db8:0:1::1", true},
	} {
		c, ok := s.Acquire(netip.MustParseAddr(test.address), 2, 0)
		if ok != test.ok || c.Counted() != ok {
			t.Errorf("%s: %v", test.address, ok)
		}
		held[test.address] = c
	}
	if n := s.Connections(netip.MustParseAddr("192.0.2.9")); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
	for _, c := range held {
		c.Release()
	}
	if c, ok := s.Acquire(netip.MustParseAddr("192.0.2.3"), 1, 0); !ok || !c.Counted() {
		t.Error("what was given back is still counted")
	}
}

// Whatever a client with many prefixes does, one that has connections keeps its entry and its limit, and one that has
// none is not refused because of others.
func TestSourcesAreNotEvicted(t *testing.T) {
	const sources = 64
	s := countSources(sources)
	good := netip.MustParseAddr("192.0.2.1")
	if c, ok := s.Acquire(good, 2, 0); !ok || !c.Counted() {
		t.Fatal("the first is not counted")
	}
	hostile := func(i int) netip.Addr {
		return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 0, byte(i >> 8), byte(i)})
	}
	counted := 0
	for i := range 100 * sources {
		c, ok := s.Acquire(hostile(i), 2, 0)
		if !ok {
			t.Fatalf("prefix %d is refused, and has no connection", i)
		}
		if c.Counted() {
			counted++
		}
	}
	if counted != sources-1 {
		t.Errorf("%d hostile prefixes are counted, want %d", counted, sources-1)
	}
	if c, ok := s.Acquire(good, 2, 0); !ok || !c.Counted() {
		t.Error("the good client has lost its entry, or its share")
	}
	if _, ok := s.Acquire(good, 2, 0); ok {
		t.Error("the good client has lost its limit")
	}
	if c, ok := s.Acquire(netip.MustParseAddr("198.51.100.1"), 2, 0); !ok || c.Counted() {
		t.Error("another good client is refused, or has an entry that is not there")
	}
}

// However loops take and give concurrently, no prefix has more than its limit and one for each other loop, and all is
// given back.
func TestSourcesAreExact(t *testing.T) {
	const loops, most, prefixes = 8, 5, 12
	s := countSources(16)
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i), 1}) }
	var open [prefixes]atomic.Int64
	var wg sync.WaitGroup
	for loop := range loops {
		rng := rand.New(rand.NewPCG(uint64(loop), 1))
		wg.Go(func() {
			type connection struct {
				Source
				of int
			}
			var held []connection
			give := func() {
				open[held[0].of].Add(-1)
				held[0].Release()
				held = held[1:]
			}
			for range 20000 {
				i := rng.IntN(prefixes)
				if rng.IntN(2) == 0 {
					if c, ok := s.Acquire(address(i), most, 0); ok && c.Counted() {
						if n := open[i].Add(1); n > most+loops-1 {
							t.Errorf("%d connections of a prefix", n)
						}
						held = append(held, connection{c, i})
					}
				} else if len(held) != 0 {
					give()
				}
			}
			for len(held) != 0 {
				give()
			}
		})
	}
	wg.Wait()
	for i := range prefixes {
		if n := s.Connections(address(i)); n != 0 {
			t.Errorf("prefix %d has %d connections in the end", i, n)
		}
	}
}

func TestSourcesRenew(t *testing.T) {
	s := countSources(16)
	counts := config.SourceConnections{Max: 7, IPv4Prefix: 24, IPv6Prefix: 64, Sources: 16}
	if s.Renew(counts) != s {
		t.Error("another limit makes another table")
	}
	counts.IPv4Prefix = 16
	if s.Renew(counts) == s {
		t.Error("other prefixes are counted in the same table")
	}
	if s.Renew(config.SourceConnections{IPv4Prefix: 24, IPv6Prefix: 64, Sources: 16}) != nil {
		t.Error("there is a table without a limit")
	}
}

func TestSourcesTakeNoMemory(t *testing.T) {
	s := countSources(1000)
	client := netip.MustParseAddr("2001:db8::1")
	if n := testing.AllocsPerRun(100, func() {
		c, _ := s.Acquire(client, 2, 0)
		c.Release()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSources(b *testing.B) {
	s := countSources(1 << 16)
	for i := 0; b.Loop(); i++ {
		c, _ := s.Acquire(netip.AddrFrom4([4]byte{1, 2, byte(i >> 8), byte(i)}), 10, 0)
		c.Release()
	}
}

// A prefix without connections keeps its history until others need its entry, and the one that was active last keeps it
// for longest. Refusals count, too.
func TestSourcesHistory(t *testing.T) {
	s := countSources(8) // one set
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i), 7}) }
	for i := range 8 {
		c, _ := s.Acquire(address(i), 1, 0)
		c.Accepted(int64(100 - i))
		if _, ok := s.Acquire(address(i), 1, int64(100-i)); ok {
			t.Fatal("the limit does not hold")
		}
		c.Refused(ByRate, int64(100-i))
		c.Ended([2]uint64{1, 2})
		c.Release()
	}
	c, _ := s.Acquire(address(8), 1, 200) // takes the entry of the prefix that was active first
	c.Accepted(200)
	seen := map[netip.Prefix]SourceReading{}
	for r := range s.All() {
		seen[r.Prefix] = r
	}
	for i := range 9 {
		prefix := s.Prefix(address(i))
		want := SourceReading{Prefix: prefix, Accepted: 1, Bytes: [2]uint64{1, 2}, Refused: [2]uint64{1, 1}}
		switch i {
		case 7:
			want = SourceReading{}
		case 8:
			want = SourceReading{Prefix: prefix, Accepted: 1, Connections: 1}
		}
		if seen[prefix] != want {
			t.Errorf("%v: %+v, want %+v", prefix, seen[prefix], want)
		}
	}
}
