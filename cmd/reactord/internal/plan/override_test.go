package plan

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// operated is a file with discovery, and what operators and sources do to it.
type operated struct {
	t     *testing.T
	parts Parts
	plan  *Plan
}

func newOperated(t *testing.T) *operated {
	t.Helper()
	o := &operated{t: t, parts: Parts{File: parsed(t, twoSources)}}
	o.plan = merged(t, o.parts)
	return o
}

// edit makes edits of one plan.
func (o *operated) edit(edits ...func(*Parts) error) error {
	o.t.Helper()
	next, err := o.parts.With(edits...)
	if err != nil {
		return err
	}
	p, err := Merge(next)
	if err == nil {
		o.parts, o.plan = next, p
	}
	return err
}

func (o *operated) add(address string, a Added) error {
	key := ServerKey{"app", serveraddr.MustParse(address)}
	return o.edit(func(p *Parts) error { return p.AddServer(o.plan, key, a, Stamp{By: "ann"}) })
}

func (o *operated) remove(server string) error {
	return o.edit(func(p *Parts) error { return p.RemoveServer(o.plan, "app", server, Stamp{By: "ann"}) })
}

func (o *operated) set(server string, edit func(*Override)) error {
	return o.edit(func(p *Parts) error {
		return p.EditOverride(o.plan, "app", server, func(o *Override) error { edit(o); return nil })
	})
}

func (o *operated) discover(servers ...Server) {
	o.t.Helper()
	source := Sources(&o.parts.File.Config.Backends[0])[0]
	if err := o.edit(func(p *Parts) error { p.Discovered[source] = servers; return nil }); err != nil {
		o.t.Fatal(err)
	}
}

func (o *operated) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// has compares the servers of the backend: "NAME ADDRESS*WEIGHT (STATE, HEALTH) ORIGIN".
func (o *operated) has(want ...string) {
	o.t.Helper()
	var got []string
	for _, s := range o.plan.Backend("app").Servers {
		if strings.HasPrefix(s.Origin, "f:") {
			continue // of the file
		}
		text := fmt.Sprintf("%s %s*%d", s.Name, s.Address, s.Weight)
		if s.State != Up {
			text += " " + s.State.String()
		}
		if s.Health != HealthAuto {
			text += " forced " + s.Health.String()
		}
		got = append(got, text+" "+s.Origin)
	}
	if !slices.Equal(got, want) {
		o.t.Errorf("servers %q, want %q", got, want)
	}
}

// What operators and discovery say of one server: whoever comes first, and whoever goes first.
func TestAddedServerAndDiscovery(t *testing.T) {
	o := newOperated(t)
	o.must(o.add("10.1.0.1:80", Added{Name: "new", Weight: 5}))
	o.has("new 10.1.0.1:80*5 by hand, by ann")
	o.discover(server("10.1.0.1:80", "found"))
	o.has("found 10.1.0.1:80*1 dns a.test") // the source's settings apply as long as it has the server
	w := 7
	o.must(o.set("found", func(o *Override) { o.Weight = &w }))
	o.has("found 10.1.0.1:80*7 override of dns a.test")
	o.discover()
	o.has("new 10.1.0.1:80*7 override of by hand, by ann")
	o.must(o.set("new", func(o *Override) { *o = o.Reset() }))
	o.has("new 10.1.0.1:80*5 by hand, by ann")
	o.must(o.remove("new"))
	o.has()
	if n := len(o.parts.Overrides); n != 0 {
		t.Errorf("%d overrides are left", n)
	}
	o.discover(server("10.1.0.1:80", "found")) // the removal of what only an operator had is no rule for sources
	o.has("found 10.1.0.1:80*1 dns a.test")
}

func TestRemovedServerAndDiscovery(t *testing.T) {
	o := newOperated(t)
	o.discover(server("10.1.0.1:80", "found"), server("10.1.0.2:80", "other"))
	o.must(o.remove("10.1.0.1:80"))
	o.has("other 10.1.0.2:80*1 dns a.test")
	o.discover(server("10.1.0.2:80", "other"))
	o.discover(server("10.1.0.1:80", "again"), server("10.1.0.2:80", "other"))
	o.has("other 10.1.0.2:80*1 dns a.test") // the removal stands
	o.must(o.set("found", func(o *Override) { *o = o.Reset() }))
	o.has("again 10.1.0.1:80*1 dns a.test", "other 10.1.0.2:80*1 dns a.test")

	// Removed and added by hand: the addition ends the removal, and the source's settings apply.
	o.must(o.remove("again"))
	o.must(o.add("10.1.0.1:80", Added{Name: "mine", Weight: 3}))
	o.has("again 10.1.0.1:80*1 dns a.test", "other 10.1.0.2:80*1 dns a.test")
	o.discover(server("10.1.0.2:80", "other"))
	o.has("mine 10.1.0.1:80*3 by hand, by ann", "other 10.1.0.2:80*1 dns a.test")
	o.discover(server("10.1.0.1:80", "again"), server("10.1.0.2:80", "other"))
	o.must(o.remove("again")) // it is the source's now, and the addition ends
	o.discover(server("10.1.0.2:80", "other"))
	o.has("other 10.1.0.2:80*1 dns a.test")
}

// A source that takes the name of an added server is not refused for it.
func TestAddedServerLosesItsName(t *testing.T) {
	o := newOperated(t)
	o.must(o.add("10.1.0.1:80", Added{Name: "new", Weight: 1}))
	o.discover(server("10.1.0.2:80", "new"))
	o.has("10.1.0.1:80 10.1.0.1:80*1 by hand, by ann", "new 10.1.0.2:80*1 dns a.test")
	o.discover(server("10.1.0.2:80", "10.1.0.1:80"))
	o.has("new 10.1.0.1:80*1 by hand, by ann", "10.1.0.1:80 10.1.0.2:80*1 dns a.test")
}

func TestOverrideErrors(t *testing.T) {
	o := newOperated(t)
	o.must(o.add("10.1.0.1:80", Added{Name: "new", Weight: 1}))
	for _, test := range []struct {
		err  error
		want string
	}{
		{o.add("10.1.0.1:80", Added{}), `not possible now: backend app has 10.1.0.1:80 already: server "new", by hand`},
		{o.add("10.0.0.1:80", Added{}), `backend app has 10.0.0.1:80 already: server "10.0.0.1:80", f:5:15`},
		{o.add("10.1.0.2:80", Added{Name: "new"}), `"new" is the name of another server of backend app: 10.1.0.1:80`},
		{o.add("10.1.0.2:80", Added{Weight: 1001}), "weight 1001 is out of range"},
		{o.add("10.1.0.2:80", Added{Priority: -1}), "priority -1 is negative"},
		{o.add("10.1.0.2:80", Added{Locality: strings.Repeat("x", 256)}), "a locality of more than 255 bytes"},
		{o.add("0.0.0.0:80", Added{}), "0.0.0.0 is not the address of one machine"},
		{o.add("10.1.0.2:0", Added{}), "port 0 cannot be connected to"},
		{o.remove("none"), `server "none" of backend "app": no such server`},
		{o.set("none", func(*Override) {}), `server "none" of backend "app": no such server`},
		{o.set("new", func(o *Override) { o.Health = 7 }), "health 7 is unknown"},
		{o.set("new", func(o *Override) { n := -1; o.MaxConnections = &n }), "max_connections -1 is negative"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("%v, want %q", test.err, test.want)
		}
	}
	err := o.edit(func(p *Parts) error {
		return p.AddServer(o.plan, ServerKey{"none", serveraddr.MustParse("10.1.0.9:80")}, Added{}, Stamp{})
	})
	if !errors.Is(err, ErrNoServer) {
		t.Errorf("an unknown backend: %v", err)
	}
}

// The last server stays, also if two are removed in one moment.
func TestLastServerStays(t *testing.T) {
	o := newOperated(t)
	servers := o.plan.Backend("app").Servers
	in := o.plan
	for _, s := range servers[:len(servers)-1] {
		o.must(o.edit(func(p *Parts) error { return p.RemoveServer(in, "app", s.Name, Stamp{}) }))
	}
	last := servers[len(servers)-1].Name
	err := o.edit(func(p *Parts) error { return p.RemoveServer(in, "app", last, Stamp{}) })
	if !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "is the last server") {
		t.Errorf("the last server: %v", err)
	}
	if err := o.remove(servers[0].Address.String()); !errors.Is(err, ErrConflict) {
		t.Errorf("removed twice: %v", err)
	}
}

func TestOverridesAreBounded(t *testing.T) {
	o := newOperated(t)
	parts, err := o.parts.With()
	o.must(err)
	for i := range MaxOverrides {
		at := serveraddr.IP(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, byte(i >> 8), byte(i)}), 80))
		o.must(parts.AddServer(o.plan, ServerKey{"app", at}, Added{}, Stamp{}))
	}
	key := ServerKey{"app", serveraddr.MustParse("10.10.0.1:80")}
	if err := parts.AddServer(o.plan, key, Added{}, Stamp{}); !errors.Is(err, ErrConflict) {
		t.Errorf("one more: %v", err)
	}
	for i := range MaxDrainRules {
		o.must(parts.AddDrainRule(o.plan, DrainRule{Locality: fmt.Sprint(i)}, Stamp{}))
	}
	if err := parts.AddDrainRule(o.plan, DrainRule{Locality: "x"}, Stamp{}); !errors.Is(err, ErrConflict) {
		t.Errorf("one more drain: %v", err)
	}
	if n := parts.ClearOverrides(""); n != MaxOverrides+MaxDrainRules || len(parts.Overrides)+len(parts.Drains) != 0 {
		t.Errorf("%d cleared", n)
	}
}

// A drain of a location or network covers servers that come later. A server that an operator has set up is not drained.
func TestDrainRules(t *testing.T) {
	o := newOperated(t)
	far := func(address string) Server { s := server(address, address); s.Locality = "far"; return s }
	drain := func(r DrainRule) error {
		return o.edit(func(p *Parts) error { return p.AddDrainRule(o.plan, r, Stamp{By: "ann"}) })
	}
	zone := DrainRule{Locality: "far"}
	o.must(drain(zone))
	o.discover(far("10.1.0.1:80"), server("10.1.0.2:80", "near"))
	o.has("10.1.0.1:80 10.1.0.1:80*1 drain dns a.test", "near 10.1.0.2:80*1 dns a.test")
	if got := o.plan.Backend("app").Server("10.1.0.1:80").Reason; got != "drained with locality far by ann" {
		t.Errorf("reason %q", got)
	}
	o.must(drain(DrainRule{Backend: "app", Network: netip.MustParsePrefix("10.1.0.0/30")}))
	up := Up
	o.must(o.set("10.1.0.1:80", func(o *Override) { o.State = &up }))
	o.has("10.1.0.1:80 10.1.0.1:80*1 override of dns a.test", "near 10.1.0.2:80*1 drain dns a.test")
	o.must(o.edit(func(p *Parts) error { return p.RemoveDrainRule(zone) }))
	if err := o.edit(func(p *Parts) error { return p.RemoveDrainRule(zone) }); !errors.Is(err, ErrNoDrainRule) {
		t.Errorf("removed twice: %v", err)
	}
	o.must(o.edit(func(p *Parts) error { p.ClearOverrides("app"); return nil }))
	o.has("10.1.0.1:80 10.1.0.1:80*1 dns a.test", "near 10.1.0.2:80*1 dns a.test")
	for _, r := range []DrainRule{{}, {Backend: "app"}, {Network: netip.MustParsePrefix("10.1.0.1/24")},
		{Backend: "none", Locality: "x"}} {
		if drain(r) == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
	all := DrainRule{Network: netip.MustParsePrefix("0.0.0.0/0")}
	if s := (Server{Address: serveraddr.Unix("/s")}); all.Matches("app", &s) {
		t.Error("a unix socket is in a network")
	}
}

// A file without the backend forgets what operators have set of it.
func TestOverridesOfForgottenBackend(t *testing.T) {
	o := newOperated(t)
	o.must(o.add("10.1.0.1:80", Added{}))
	for _, r := range []DrainRule{{Backend: "app", Locality: "x"}, {Locality: "x"}} {
		o.must(o.edit(func(p *Parts) error { return p.AddDrainRule(o.plan, r, Stamp{}) }))
	}
	without := *o.parts.File
	cfg := *without.Config
	cfg.Listeners = nil
	cfg.Backends = slices.DeleteFunc(slices.Clone(cfg.Backends), func(b config.Backend) bool { return b.Name == "app" })
	without.Config, without.sources = &cfg, nil
	o.must(o.edit(func(p *Parts) error { p.File = &without; return nil }))
	rules := slices.Collect(maps.Keys(o.parts.Drains))
	if len(o.parts.Overrides) != 0 || !slices.Equal(rules, []DrainRule{{Locality: "x"}}) {
		t.Errorf("left: %v, %v", o.parts.Overrides, o.parts.Drains)
	}
}

// A forced health ends by itself. The rest of the override stays.
func TestOverridesExpire(t *testing.T) {
	o := newOperated(t)
	now := time.Now()
	w := 3
	o.must(o.add("10.1.0.1:80", Added{Weight: 1}))
	o.discover(server("10.1.0.2:80", "b"))
	force := func(until time.Time) func(*Override) {
		return func(o *Override) { o.Health, o.Until, o.Weight = HealthDown, until, &w }
	}
	o.must(o.set("10.1.0.1:80", force(now.Add(time.Minute))))
	o.must(o.set("b", func(o *Override) { o.Health, o.Until = HealthUp, now.Add(time.Hour) }))
	o.has("10.1.0.1:80 10.1.0.1:80*3 forced down override of by hand, by ann",
		"b 10.1.0.2:80*1 forced up override of dns a.test")
	if got := o.parts.NextExpiry(); !got.Equal(now.Add(time.Minute)) {
		t.Errorf("next at %v", got)
	}
	expire := func(at time.Time) {
		o.must(o.edit(func(p *Parts) error { p.Expire(at); return nil }))
	}
	expire(now.Add(time.Minute - 1))
	if o.parts.NextExpiry().IsZero() || o.plan.Backend("app").Server("10.1.0.1:80").Health != HealthDown {
		t.Error("it has expired early")
	}
	expire(now.Add(time.Minute))
	o.has("10.1.0.1:80 10.1.0.1:80*3 override of by hand, by ann", "b 10.1.0.2:80*1 forced up override of dns a.test")
	expire(now.Add(time.Hour))
	o.has("10.1.0.1:80 10.1.0.1:80*3 override of by hand, by ann", "b 10.1.0.2:80*1 dns a.test")
	if !o.parts.NextExpiry().IsZero() || len(o.parts.Overrides) != 1 {
		t.Errorf("left: %v", o.parts.Overrides)
	}
}
