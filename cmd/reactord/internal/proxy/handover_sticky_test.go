package proxy

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/reactor"
)

func stickySources(n int) (all []StickySource) {
	for i := range n {
		s := StickySource{
			Backend: []string{"a", "b"}[i%2], Source: netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}),
			Server: serveraddr.IP(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i % 5)}), 80)),
			Unused: int64(i % 4000),
		}
		if i%7 == 0 {
			s.Source, s.Server = netip.AddrFrom16([16]byte{0x20, 1, byte(i >> 8), byte(i)}), serveraddr.Unix("/run/app.sock")
		}
		all = append(all, s)
	}
	return all
}

// TestStickyRecord wants what is packed to be unpacked, through JSON, and a million clients to fit into a record.
func TestStickyRecord(t *testing.T) {
	all := stickySources(1000)
	packed, left := PackSticky(all)
	text, err := json.Marshal(packed)
	if err != nil || left != 0 {
		t.Fatal(err, left)
	}
	var read StickyRecord
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	got, err := read.Unpack()
	if err != nil {
		t.Fatal(err)
	}
	byBackend := slices.Clone(all)
	slices.SortStableFunc(byBackend, func(x, y StickySource) int { return int(x.Backend[0]) - int(y.Backend[0]) })
	if !slices.Equal(got, byBackend) {
		t.Errorf("%d sources, not %d, or others", len(got), len(all))
	}
	if testing.Short() {
		return
	}
	million, left := PackSticky(stickySources(1_000_000))
	if text, _ := json.Marshal(million); left != 0 || len(text) > 16<<20 {
		t.Errorf("a million clients take %d bytes, and %d are left", len(text), left)
	}
	bounded, left := packSticky(all, 1000)
	if got, err := bounded.Unpack(); err != nil || left == 0 || len(got)+left != len(all) {
		t.Errorf("%d clients of %d, and %d are left: %v", len(got), len(all), left, err)
	}
}

// FuzzStickyRecord wants a damaged record to be refused, or to be one.
func FuzzStickyRecord(f *testing.F) {
	packed, _ := PackSticky(stickySources(20))
	f.Add(packed[0].Clients)
	f.Fuzz(func(t *testing.T, clients []byte) {
		r := StickyRecord{{Backend: "a", Servers: packed[0].Servers, Clients: clients}}
		all, err := r.Unpack()
		if err != nil {
			return
		}
		again, left := PackSticky(all)
		if got, err := again.Unpack(); left != 0 || err != nil || !slices.Equal(got, all) {
			t.Fatalf("%v: %v, %v", err, got, all)
		}
	})
}

// TestStickyRestoredAtStart wants the table to be full before the first connection comes.
func TestStickyRestoredAtStart(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		cfg := setupOf(Backend{Set: func(b *config.Backend) {
			b.Balance.Sticky.Time, b.Balance.Sticky.Max = time.Hour, 1000
			b.Balance.IPv4Prefix, b.Balance.IPv6Prefix = 32, 64
		}}, ln)
		cfg.Ring, cfg.Loops = ring, 1
		at, err := serveraddr.Parse(ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		cfg.Sticky = []StickySource{{Backend: "b", Source: netip.MustParseAddr("192.0.2.7"), Server: at}}
		p := cfg.run(t)
		table := p.backends.find(p.table.Load().backends["b"]).stickyTable()
		if table == nil {
			t.Fatal("there is no table before the first connection")
		}
		if server := table.find(netip.MustParseAddr("192.0.2.7"), p.now()); server == nil || *server != at {
			t.Errorf("the client stays at %v", server)
		}
	})
}
