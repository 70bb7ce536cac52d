package proxy

import (
	"net/netip"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/reactor"
)

// The first route counts of which all conditions hold.
func TestFirstRouteThatMatches(t *testing.T) {
	backends := &table{backends: map[string]*upstream.Backend{"b": {Name: "b"}}}
	r, err := newRouter(listenerOf([]config.Route{
		{Name: "both", SNI: []string{"a.test"}, ALPN: []string{"h2"}, Backend: "b"},
		{Name: "exact", SNI: []string{"A.test", "b.test"}, Backend: "b"},
		{Name: "far", SNI: []string{"*.test"}, Sources: prefixes("192.0.2.0/24"), Backend: "b"},
		{Name: "deep", SNI: []string{"*.deep.test"}, Backend: "b"},
		{Name: "below", SNI: []string{"*.test"}, Backend: "b"},
		{Name: "alpn", ALPN: []string{"x", "y"}, Backend: "b"},
		{Name: "to", Destinations: prefixes("203.0.113.0/24", "2001:db8::/32"), Backend: "b"},
		{Name: "from", Sources: prefixes("198.51.100.0/24"), Backend: "b"},
	}), backends, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		sni, alpn, source, destination, want string
	}{
		{sni: "a.test", alpn: "h2", want: "both"},
		{sni: "a.test", alpn: "h3", want: "exact"},
		{sni: "a.test", want: "exact"},
		{sni: "b.test", alpn: "x", want: "exact"},
		{sni: "c.test", source: "192.0.2.1", want: "far"},
		{sni: "x.deep.test", source: "192.0.2.1", want: "far"},
		{sni: "x.deep.test", want: "deep"},
		{sni: "deep.test", want: "below"},
		{sni: "x.y.z.test", want: "below"},
		{sni: "test", want: ""},
		{sni: "other", alpn: "y", want: "alpn"},
		{destination: "203.0.113.9", want: "to"},
		{destination: "2001:db8::1", want: "to"},
		{source: "198.51.100.7", want: "from"},
		{},
	} {
		c := &conn{identity: &identity{
			clientAddr: netip.MustParseAddrPort("10.0.0.1:1"), destination: netip.MustParseAddrPort("10.0.0.2:1"), SNI: test.sni,
		}}
		if test.source != "" {
			c.identity.clientAddr = netip.AddrPortFrom(netip.MustParseAddr(test.source), 1)
		}
		if test.destination != "" {
			c.identity.destination = netip.AddrPortFrom(netip.MustParseAddr(test.destination), 1)
		}
		if test.alpn != "" {
			c.identity.Offered = []string{"z", test.alpn}
		}
		a := &routeRequest{conn: c}
		got := ""
		if i := r.find(a); i < len(r.routes) {
			got = r.routes[i].name
		}
		if got != test.want {
			t.Errorf("%+v: route %q", test, got)
		}
		if n := testing.AllocsPerRun(10, func() { r.find(a) }); n != 0 {
			t.Errorf("%+v: %v allocations", test, n)
		}
	}
	if _, err := newRouter(listenerOf([]config.Route{{Backend: "c"}}), backends, nil, nil); err == nil {
		t.Error("a route leads to no backend")
	}
}

func listenerOf(routes []config.Route) *plan.Listener {
	return &plan.Listener{Listener: config.Listener{Routes: routes}}
}

// New connections follow the routes of the plan in force; those before are left alone.
func TestRoutesOfTheNextPlan(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		a, b := listen(t), listen(t)
		cfg := setupOf(Backend{}, a)
		cfg.addOther(b)
		cfg.Loops, cfg.Listeners[0].Backend = 1, ""
		set := func(to string) {
			l := config.Route{Sources: prefixes("127.0.0.0/8"), Backend: to}
			cfg.Listeners[0].Set = func(p *plan.Listener) { p.Routes = []config.Route{l} }
		}
		set("b")
		p := cfg.on(ring).run(t)
		first := dialProxy(t, p)
		write(t, first, "1")
		one := acceptFrom(t, a)
		set("other")
		change, err := p.prepareChange(cfg.plan())
		if err != nil {
			t.Fatal(err)
		}
		change.Commit()
		second := dialProxy(t, p)
		write(t, second, "2")
		expect(t, acceptFrom(t, b), "2")
		expect(t, one, "1")
		set("nowhere")
		if _, err := p.prepareChange(cfg.plan()); err == nil {
			t.Error("a plan was taken whose route leads to no backend")
		}
	})
}
