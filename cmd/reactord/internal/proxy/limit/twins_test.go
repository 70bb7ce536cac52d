package limit

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// twins counts the entries of a table of one set that have the mark of a client's prefix.
func twins[E any](t *table[E], client netip.Addr) (n int) {
	set, mark := t.set(client)
	for i := range set.words {
		if markOf(set.words[i].Load()) == mark {
			n++
		}
	}
	return n
}

// TestOneEntry wants a prefix that two loops meet at the same moment to have one entry, while both bring further
// prefixes that want the same entries.
func TestOneEntry(t *testing.T) {
	rounds := 200_000
	if testing.Short() {
		rounds = 20_000
	}
	rate := config.SourceRate{Connections: 1000, Burst: 1000, IPv4Prefix: 32, IPv6Prefix: 64, Sources: ways}
	counts := config.SourceConnections{Max: 100, IPv4Prefix: 32, IPv6Prefix: 64, Sources: ways}
	prefixes, sources := NewPrefixes(rate), (*Sources)(nil).Renew(counts)
	clients := &Clients{newTable[[2]ByteBucket](32, 64, ways)}
	sticky := NewSticky[int](32, 64, ways)
	for name, test := range map[string]struct {
		use   func(netip.Addr, int64)
		twins func(netip.Addr) int
	}{
		"rates": {
			func(a netip.Addr, now int64) { prefixes.Take(a, now) },
			func(a netip.Addr) int { return twins(&prefixes.table, a) },
		},
		"connections": {func(a netip.Addr, now int64) {
			if s, ok := sources.Acquire(a, 100, now); ok {
				s.Accepted(now)
				s.Release()
			}
		}, func(a netip.Addr) int { return twins(&sources.table, a) }},
		"bytes": {
			func(a netip.Addr, now int64) { clients.Acquire(a, now).Release() },
			func(a netip.Addr) int { return twins(&clients.table, a) },
		},
		"sticky": {
			func(a netip.Addr, now int64) { sticky.Use(a, new(int), now) },
			func(a netip.Addr) int { return twins(&sticky.table, a) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			meet := &barrier{}
			found := 0
			address := func(loop, n int) netip.Addr {
				var b [4]byte
				binary.BigEndian.PutUint32(b[:], uint32(loop)<<28|uint32(n))
				return netip.AddrFrom4(b)
			}
			var all sync.WaitGroup
			for loop := range 2 {
				all.Go(func() {
					for n := range rounds {
						now := int64(n) * int64(time.Second)
						meet.wait(2 * n)
						test.use(address(loop+1, n), now+int64(loop)*int64(time.Second))
						test.use(address(0, n), now+int64(loop)*int64(time.Second))
						meet.wait(2*n + 1)
						if loop == 0 && test.twins(address(0, n)) > 1 {
							found++
						}
					}
				})
			}
			if all.Wait(); found != 0 {
				t.Errorf("%d of %d prefixes have two entries", found, rounds)
			}
		})
	}
}

// barrier lets two goroutines begin a step together.
type barrier struct {
	mu   sync.Mutex
	cond *sync.Cond
	come int
}

// wait returns when both have come to a step. Steps are counted from 0.
func (b *barrier) wait(step int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cond == nil {
		b.cond = sync.NewCond(&b.mu)
	}
	if b.come++; b.come == 2*(step+1) {
		b.cond.Broadcast()
	}
	for b.come < 2*(step+1) {
		b.cond.Wait()
	}
}
