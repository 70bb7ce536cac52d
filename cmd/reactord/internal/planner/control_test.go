package planner

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// someControl has a listener at each address, whose backend has its name and these servers.
func someControl(servers []string, at ...string) *plan.Control {
	c := &plan.Control{Origin: "xds test", Servers: map[string][]plan.Server{}}
	for _, address := range at {
		a := netip.MustParseAddrPort(address)
		l := config.NewListener()
		l.Name, l.Backend = "outbound|"+address, "cluster/"+address
		l.Address = config.Address{Host: a.Addr().String(), Port: a.Port()}
		c.Listeners = append(c.Listeners, l)
		b := config.NewBackend()
		b.Name = l.Backend
		c.Backends = append(c.Backends, b)
		for _, s := range servers {
			one := plan.Server{Address: serveraddr.MustParse(s), Weight: 1, Origin: c.Origin}
			c.Servers[b.Name] = append(c.Servers[b.Name], one)
		}
	}
	return c
}

// A control plane adds listeners and backends, replaces them, and takes them back.
func TestControlIsAPart(t *testing.T) {
	p, target := started(t, Config{Load: always(small())})
	before := len(p.Plan().Listeners)
	apply := func(c *plan.Control) {
		t.Helper()
		if err := p.Control(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	apply(someControl([]string{"192.0.2.1:80"}, "127.0.0.9:81", "127.0.0.9:82"))
	if got := len(p.Plan().Listeners); got != before+2 {
		t.Fatalf("%d listeners", got)
	}
	settings := p.Plan().Backend("cluster/127.0.0.9:81").Settings
	listeners := p.Plan().Listeners
	apply(someControl([]string{"192.0.2.2:80"}, "127.0.0.9:81", "127.0.0.9:82"))
	b := p.Plan().Backend("cluster/127.0.0.9:81")
	if b.Server("192.0.2.2:80") == nil || b.Settings != settings || &p.Plan().Listeners[0] != &listeners[0] {
		t.Error("more was merged than servers that have changed")
	}
	commits := target.commits
	apply(someControl([]string{"192.0.2.2:80"}, "127.0.0.9:81", "127.0.0.9:82"))
	if target.commits != commits {
		t.Error("the same is a change")
	}
	if f := p.InForce(); len(f.Config.Listeners) != before+2 || f.Origin("listeners[1].name") != "xds test" {
		t.Errorf("in force: %v", f.Config.Listeners)
	}
	weight := 3
	if err := p.Override("cluster/127.0.0.9:81", "192.0.2.2:80", plan.Override{Weight: &weight}); err != nil {
		t.Error(err)
	}
	apply(someControl([]string{"192.0.2.2:80", "192.0.2.3:80"}, "127.0.0.9:81"))
	if got := p.Plan().Backend("cluster/127.0.0.9:81").Server("192.0.2.2:80").Weight; got != 3 {
		t.Errorf("the override is lost: weight %d", got)
	}
	apply(nil)
	if got := len(p.Plan().Listeners); got != before || len(p.Status().Overrides) != 0 {
		t.Errorf("%d listeners, overrides %v", got, p.Status().Overrides)
	}
}

// An error of one item has its name, and nothing changes. Without that item, the rest takes effect.
func TestControlErrors(t *testing.T) {
	refuse := netip.MustParseAddrPort("127.0.0.9:83")
	for _, test := range []struct {
		name     string
		change   func(*plan.Control)
		listener string
		backend  string
		text     string
	}{
		{"an address of the file", func(c *plan.Control) { c.Listeners[0].Address = small().Config.Listeners[0].Address },
			"outbound|127.0.0.9:81", "", "is used twice"},
		{"an address twice", func(c *plan.Control) { c.Listeners[1].Address = c.Listeners[0].Address },
			"outbound|127.0.0.9:82", "", "is used twice"},
		{"a name of the file", func(c *plan.Control) { c.Listeners[0].Name = small().Config.Listeners[0].Name },
			small().Config.Listeners[0].Name, "", "the configuration file has one of this name"},
		{"a backend of the file", func(c *plan.Control) { c.Backends[0].Name = "app" }, "", "app", "file has one"},
		{"no such backend", func(c *plan.Control) { c.Listeners[0].Backend = "none" }, "outbound|127.0.0.9:81", "",
			"does not exist"},
		{"a value", func(c *plan.Control) { c.Backends[0].Retries = -1 }, "", "cluster/127.0.0.9:81", "out of range"},
		{"a server", func(c *plan.Control) { c.Servers[c.Backends[1].Name][0].Weight = -1 }, "", "cluster/127.0.0.9:82",
			"out of range"},
		{"the target", func(c *plan.Control) { c.Listeners[1].Address.Port = 83 }, "outbound|127.0.0.9:82", "", "in use"},
		{"a loop", func(c *plan.Control) {
			c.Servers[c.Backends[0].Name][0].Address = serveraddr.MustParse("127.0.0.9:81")
		}, "outbound|127.0.0.9:81", "", "endless"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, target := started(t, Config{Load: always(small())})
			target.refuse = map[netip.AddrPort]bool{refuse: true}
			c := someControl([]string{"192.0.2.1:80"}, "127.0.0.9:81", "127.0.0.9:82")
			test.change(c)
			revision := p.Plan().Revision
			items, rest := plan.ControlErrors(p.Control(t.Context(), c))
			named := slices.IndexFunc(items, func(e *plan.ControlError) bool {
				return e.Listener == test.listener && e.Backend == test.backend && strings.Contains(e.Error(), test.text)
			})
			if named < 0 || rest != nil || p.Plan().Revision != revision {
				t.Fatalf("%v, %v", items, rest)
			}
			if err := p.Control(t.Context(), c.Without(items)); err != nil {
				t.Errorf("without it: %v", err)
			}
			if len(p.Plan().Listeners) != len(small().Config.Listeners)+1 {
				t.Errorf("%d listeners", len(p.Plan().Listeners))
			}
		})
	}
}

// A file that takes a name or an address of the control plane takes effect, and the displaced items are reported.
func TestFileWinsOverControl(t *testing.T) {
	next := small()
	file := small()
	var left []*plan.ControlError
	p, _ := started(t, Config{
		Load:    func(context.Context) (*plan.File, error) { f := *next; return &f, nil },
		LeftOut: func(wrong []*plan.ControlError) { left = wrong },
		Control: someControl([]string{"192.0.2.1:80"}, "127.0.0.9:81", "127.0.0.9:82"),
	})
	if len(p.Plan().Listeners) != len(file.Config.Listeners)+2 {
		t.Fatal("the first plan is without the part")
	}
	l := config.NewListener()
	l.Name, l.Backend, l.Address = "own", "app", config.Address{Host: "127.0.0.9", Port: 82}
	file.Config.Listeners = append(slices.Clone(file.Config.Listeners), l)
	next = file
	if err := p.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || left[0].Listener != "outbound|127.0.0.9:82" {
		t.Errorf("left out: %v", left)
	}
	if len(p.Plan().Listeners) != len(file.Config.Listeners)+1 {
		t.Errorf("%d listeners", len(p.Plan().Listeners))
	}
}

// The names of a new backend are looked up before it is in force, but not for long.
func TestControlAwaitsItsSources(t *testing.T) {
	for _, answers := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := someControl(nil, "127.0.0.9:81")
			d := config.NewDNS()
			d.Name, d.Port = "db.test", 80
			c.Backends[0].DNS = []config.DNS{d}
			source := plan.SourceOf(&c.Backends[0], &d)
			var p *Planner
			running := 0
			p, _ = started(t, Config{Load: always(small()), Discover: func(all ...*config.Config) {
				running = 0
				for _, c := range all {
					for i := range c.Backends {
						running += len(c.Backends[i].DNS)
					}
				}
				if running > 0 && answers {
					go p.Discovered(source, []plan.Server{server("192.0.2.7:80", "")}, nil)
				}
			}})
			began := time.Now()
			if err := p.Control(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 2*time.Second || !answers && took < time.Second {
				t.Errorf("it took %v", took)
			}
			if got := len(p.Plan().Backend(c.Backends[0].Name).Servers); (got == 1) != answers || running == 0 {
				t.Errorf("%d servers, %d sources run", got, running)
			}
			if err := p.Control(t.Context(), nil); err != nil || running != 0 {
				t.Errorf("%v, %d sources run", err, running)
			}
		})
	}
}

// A backend whose servers come from names without an answer keeps what it had, across further changes, until one is
// answered.
func TestControlKeepsServersUntilAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := 0
		p, _ := started(t, Config{Load: always(small()), Discover: func(all ...*config.Config) {
			names := map[plan.Source]bool{}
			for _, c := range all {
				for i := range c.Backends {
					for _, s := range plan.Sources(&c.Backends[i]) {
						names[s] = true
					}
				}
			}
			running = len(names)
		}})
		apply := func(c *plan.Control) {
			t.Helper()
			if err := p.Control(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		named := func(name string) (*plan.Control, plan.Source) {
			c := someControl(nil, "127.0.0.9:81", "127.0.0.9:82")
			d := config.NewDNS()
			d.Name, d.Port = name, 80
			c.Backends[0].DNS, c.Backends[0].Retries = []config.DNS{d}, 7
			return c, plan.SourceOf(&c.Backends[0], &d)
		}
		const backend = "cluster/127.0.0.9:81"
		has := func(server string, retries, sources int) {
			t.Helper()
			synctest.Wait() // sources are told after the plan is in force
			b := p.Plan().Backend(backend)
			if len(b.Servers) != 1 || b.Server(server) == nil || b.Settings.Retries != retries || running != sources {
				t.Fatalf("servers %v, %d retries, %d sources", b.Servers, b.Settings.Retries, running)
			}
		}
		apply(someControl([]string{"192.0.2.1:80"}, "127.0.0.9:81", "127.0.0.9:82"))
		usual := p.Plan().Backend(backend).Settings.Retries
		first, source := named("a.test")
		apply(first)
		has("192.0.2.1:80", usual, 1)
		again, _ := named("a.test")
		apply(again) // of which all names are known
		has("192.0.2.1:80", usual, 1)
		p.Discovered(source, nil, errors.New("no such name"))
		time.Sleep(time.Second)
		has("192.0.2.1:80", usual, 1)
		p.Discovered(source, []plan.Server{server("192.0.2.7:80", "")}, nil)
		time.Sleep(time.Second)
		has("192.0.2.7:80", 7, 1)
		second, _ := named("b.test")
		apply(second)
		has("192.0.2.7:80", 7, 2)
		third, source := named("c.test")
		apply(third)
		has("192.0.2.7:80", 7, 2)
		p.Discovered(source, []plan.Server{server("192.0.2.8:80", "")}, nil)
		time.Sleep(time.Second)
		has("192.0.2.8:80", 7, 1)
		apply(someControl([]string{"192.0.2.2:80"}, "127.0.0.9:81"))
		has("192.0.2.2:80", usual, 0)
	})
}

// A caller that stops waiting gets the error of its context, and the change continues.
func TestControlIsGivenUp(t *testing.T) {
	p, _ := started(t, Config{Load: always(small())})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Control(ctx, someControl(nil, "127.0.0.9:81")); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := p.Control(t.Context(), someControl(nil, "127.0.0.9:81", "127.0.0.9:82")); err != nil {
		t.Error(err)
	}
}
