package proxy

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/reactor"
)

// sources lists the sources of a proxy.
func sources(t *testing.T, p *Proxy, q SourceQuery) stats.ClientSources {
	t.Helper()
	all, err := p.Sources(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Sources are listed with what they have open, what they had, and which limit refuses them.
func TestSources(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go echo(ln)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 2
		f.Limits.SourceConnections = sourceConnections(100)
		f.Limits.SourceConnections.IPv4Prefix = 8
		f.Listeners[0].Set = func(l *plan.Listener) {
			limitSources(3)(l)
			l.SourceRate = sourceRate(1, 8, 16)
		}
		p := f.run(t)
		for range 6 { // of which 3 are refused
			dialFrom(t, p, "127.0.0.1", "a")
		}
		for range 10 { // one after the other, of which 2 or 1 come too fast
			if c, served := dialFrom(t, p, "127.1.0.2", "abc"); served {
				c.Close()
			}
			waitFor(t, "it has ended", func() bool { return p.fromSource("127.1.0.2")[1] == 0 })
		}
		all := sources(t, p, SourceQuery{})
		if len(all.Sources) != 3 || all.Total != 3 || all.Unlisted != 0 {
			t.Fatalf("%+v", all)
		}
		process, many, fast := all.Sources[0], all.Sources[1], all.Sources[2] // by connections, and then what they had
		if process.Source != "127.0.0.0/8" || process.Listener != "" || process.Connections != 3 || process.Limit != 100 ||
			process.Accepted != 3+fast.Accepted || len(process.Limited) != 0 {
			t.Errorf("the process: %+v", process)
		}
		if many.Source != "127.0.0.1/32" || many.Listener != "l" || many.Connections != 3 || many.Limit != 3 ||
			many.Accepted != 3 || many.ReceivedBytes != 3 || many.SentBytes != 3 || stats.Sum(many.Rejected) != 3 ||
			many.Rejected[0].Count != 3 || !reflect.DeepEqual(many.Limited, []string{"source_connections"}) {
			t.Errorf("many connections: %+v", many)
		}
		if fast.Source != "127.1.0.2/32" || fast.Connections != 0 || fast.Accepted+fast.Rejected[1].Count != 10 ||
			fast.Rejected[1].Count == 0 || fast.ReceivedBytes != 3*fast.Accepted {
			t.Errorf("fast connections: %+v", fast)
		}
		waitFor(t, "it is said that the rate refuses the source", func() bool {
			dialFrom(t, p, "127.1.0.2", "a")
			for _, s := range sources(t, p, SourceQuery{Listener: "l"}).Sources {
				if s.Source == "127.1.0.2/32" {
					return slices.Contains(s.Limited, "source_rate")
				}
			}
			return false
		})
		if first := sources(t, p, SourceQuery{Sort: "accepted", Listener: "l", Limit: 1}); len(first.Sources) != 1 ||
			first.Total != 2 || first.Sources[0].Source != "127.1.0.2/32" {
			t.Errorf("by accepted: %+v", first)
		}
		if none := sources(t, p, SourceQuery{Listener: "other"}); len(none.Sources) != 0 {
			t.Errorf("of no listener: %+v", none)
		}
	})
}

// Without a limit, the sources of open connections are listed.
func TestSourcesWithoutLimit(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go echo(ln)
		f := setupOf(Backend{}, ln)
		f.Ring, f.Loops = ring, 2
		p := f.run(t)
		for i := range 4 {
			if _, served := dialFrom(t, p, fmt.Sprintf("127.0.0.%d", 1+i/3), "a"); !served {
				t.Fatal("it is refused")
			}
		}
		all := sources(t, p, SourceQuery{Sort: "bytes"})
		if len(all.Sources) != 2 || all.Sources[0].Source != "127.0.0.1/32" || all.Sources[0].Connections != 3 ||
			all.Sources[0].ReceivedBytes != 3 || all.Sources[1].Connections != 1 {
			t.Errorf("%+v", all)
		}
	})
}

// However many sources are open, an answer collects no more of them than it may, and says what is missing.
func TestSourcesAreBounded(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		c, s := pair(t, p, ln)
		swap(t, c, s, 1)
		l := p.table.Load().listeners[0]
		got := collectedSources{usage: map[sourceKey]*sourceUsage{}}
		for i := range maxListedSources {
			b := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
			got.usage[sourceKey{l, limit.PrefixOf(b, 32, 64)}] = &sourceUsage{}
		}
		if err := p.visit(t.Context(), connMembers, func(m member) bool { got.add(m); return true }); err != nil {
			t.Fatal(err)
		}
		if got.unlisted != 1 || len(got.usage) != maxListedSources {
			t.Errorf("%d unlisted, %d listed", got.unlisted, len(got.usage))
		}
	})
}
