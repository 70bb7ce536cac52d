package proxy

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/sets"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
)

// liveSets returns a manager of a set of networks and of one of names.
func liveSets(t *testing.T) *sets.Manager {
	t.Helper()
	m := sets.NewManager(zap.NewNop(), sets.Record{})
	t.Cleanup(m.Close)
	networks, names := config.NewSet(), config.NewSet()
	networks.Name, names.Name, names.Type = "blocked", "names", config.NameSet
	m.Follow([]config.Set{networks, names}, nil)
	return m
}

// TestDenyByLiveSet wants a client to be refused from the moment on in which a set has it, its open connections to
// stay, and the client beside it to be served all the time.
func TestDenyByLiveSet(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go echo(ln)
		live := liveSets(t)
		cfg := setupOf(Backend{}, ln)
		cfg.Ring, cfg.Loops, cfg.Sets = ring, 2, live.Directory()
		cfg.Listeners[0].Set = func(l *plan.Listener) { l.Deny = []config.Prefix{{Set: "blocked"}} }
		p := cfg.run(t)
		bad, served := dialFrom(t, p, "127.0.0.2", "x")
		if !served {
			t.Fatal("a client that no set has is refused")
		}
		if _, err := live.Add("blocked", "127.0.0.2", 0, ""); err != nil {
			t.Fatal(err)
		}
		for from, want := range map[string]bool{"127.0.0.2": false, "127.0.0.3": true} {
			if _, served := dialFrom(t, p, from, "x"); served != want {
				t.Errorf("%s is served: %v", from, served)
			}
		}
		write(t, bad, "y")
		expect(t, bad, "y")
		if err := live.Remove("blocked", "127.0.0.2"); err != nil {
			t.Fatal(err)
		}
		if _, served := dialFrom(t, p, "127.0.0.2", "x"); !served {
			t.Error("a client that the set has no more is refused")
		}
	})
}

// TestRouteByLiveSet wants names of a set to match in the order of the routes, and the explanation to be the choice.
func TestRouteByLiveSet(t *testing.T) {
	live := liveSets(t)
	f := fixture{
		Listeners: []Listener{{Name: "l", Address: netip.MustParseAddrPort("127.0.0.1:0"), Set: func(l *plan.Listener) {
			l.Routes = []config.Route{
				{Name: "exact", SNI: []string{"a.example.org"}, Backend: "b"},
				{Name: "set", SNI: []string{"set=names", "b.test"}, Backend: "b", Deny: []config.Prefix{{Set: "blocked"}}},
				{Name: "wild", SNI: []string{"*.example.org"}, Backend: "b"},
			}
		}}},
		Backends: []Backend{{Name: "b", Servers: []Server{{Name: "s", Address: netip.MustParseAddrPort("127.0.0.1:1")}}}},
	}
	for _, e := range []string{"*.example.org", "c.test"} {
		if _, err := live.Add("names", e, time.Hour, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := live.Add("blocked", "192.0.2.0/24", time.Hour, ""); err != nil {
		t.Fatal(err)
	}
	p, err := NewPreview(f.plan(), upstream.Handover{}, live.Directory())
	if err != nil {
		t.Fatal(err)
	}
	file := &plan.File{Config: config.New()}
	for name, want := range map[string]string{
		"a.example.org": "exact", "x.example.org": "set", "b.test": "set", "c.test": "set", "d.test": "", "example.org": "",
	} {
		x, err := p.Explain(Client{Address: netip.MustParseAddrPort("198.51.100.1:1"), SNI: name, TLS: true}, file)
		if err != nil || x.Route != want {
			t.Errorf("%s takes the route %q, not %q: %v", name, x.Route, want, err)
		}
	}
	x, err := p.Explain(Client{Address: netip.MustParseAddrPort("192.0.2.1:1"), SNI: "c.test", TLS: true}, file)
	if err != nil || !strings.Contains(x.Steps[len(x.Steps)-1].Text, "192.0.2.0/24 of set blocked (added)") {
		t.Errorf("%+v, %v", x, err)
	}
}
