package simulation

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/source/discovery"
)

func found(addresses ...string) (f Found) {
	for _, a := range addresses {
		f.Servers = append(f.Servers, plan.Server{Name: a, Address: serveraddr.MustParse(a), Weight: 1})
	}
	return f
}

// Discovery learns of a change when a source of its kind would, and keeps what that would keep.
func TestDiscovery(t *testing.T) {
	dns := config.NewDNS()
	dns.Name, dns.Port = "web.test", 8080
	http := config.NewHTTPDiscovery()
	http.URL, http.Interval = "http://discovery.test/web", 4*time.Second
	const at = 5 * time.Second
	one, other := found("10.0.1.1:8080"), found("10.0.1.2:8080")
	for _, test := range []struct {
		name  string
		use   func(b *config.Backend) config.Finder
		next  Found
		most  time.Duration // until it is known
		stays bool          // or what was found first stays
	}{
		{"dns", func(b *config.Backend) config.Finder { b.DNS = []config.DNS{dns}; return &b.DNS[0] },
			other, 3400 * time.Millisecond, false},
		{"dns without servers", func(b *config.Backend) config.Finder { b.DNS = []config.DNS{dns}; return &b.DNS[0] },
			Found{}, 0, true},
		{"dns without an answer", func(b *config.Backend) config.Finder { b.DNS = []config.DNS{dns}; return &b.DNS[0] },
			Found{Err: discovery.ErrUnanswered}, 0, true},
		{"files", func(b *config.Backend) config.Finder {
			b.Files = []config.FileDiscovery{{Path: "/web.yaml"}}
			return &b.Files[0]
		}, other, 2100 * time.Millisecond, false},
		{"files without servers", func(b *config.Backend) config.Finder {
			b.Files = []config.FileDiscovery{{Path: "/web.yaml"}}
			return &b.Files[0]
		}, Found{}, 2100 * time.Millisecond, false},
		{"http", func(b *config.Backend) config.Finder { b.HTTP = []config.HTTPDiscovery{http}; return &b.HTTP[0] },
			other, 4500 * time.Millisecond, false},
		{"http without an answer", func(b *config.Backend) config.Finder {
			b.HTTP = []config.HTTPDiscovery{http}
			return &b.HTTP[0]
		}, Found{Err: discovery.ErrUnanswered}, 0, true},
		{"kubernetes", func(b *config.Backend) config.Finder {
			b.Kubernetes = []config.KubernetesDiscovery{{Service: "web"}}
			return &b.Kubernetes[0]
		}, other, 20 * time.Millisecond, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := web(0, func(s *Scenario, b *config.Backend) {
				b.Check = config.NewBackend().Check
				b.Queue.Timeout = 0
				source := plan.SourceOf(b, test.use(b))
				s.TTL = 3 * time.Second
				s.Duration = 20 * time.Second
				s.Found = map[plan.Source]Found{source: one}
				s.Events = []Event{{At: at, Text: "it changes", Found: map[plan.Source]Found{source: test.next}}}
			})
			s.Events[0].Plan = &plan.Plan{Backends: []plan.Backend{{
				Settings: s.Plan.Backends[0].Settings, Servers: append(one.Servers, other.Servers...),
			}}}
			r := run(t, s, 1)
			var changed time.Duration
			for _, m := range r.Marks {
				t.Logf("%v %s", m.At, m.Text)
				if !m.Event && changed == 0 && strings.Contains(m.Text, "servers found: ") && m.At > at {
					changed = m.At - at
				}
			}
			before, after := 0, 0
			for _, server := range r.Servers {
				switch server.Address {
				case "10.0.1.1:8080":
					before = server.Connections
				case "10.0.1.2:8080":
					after = server.Connections
				}
			}
			switch {
			case test.stays:
				if r.Failed() > 0 || before != r.Clients {
					t.Errorf("%d of %d clients have got the server, and %d failed", before, r.Clients, r.Failed())
				}
			case changed == 0 || changed > test.most:
				t.Errorf("the change is known after %v, want %v", changed, test.most)
			case test.next.Servers == nil && r.Failed() < r.Clients/2,
				test.next.Servers != nil && (r.Failed() > 0 || after == 0):
				t.Errorf("%d of %d clients have got the other server, and %d failed", after, r.Clients, r.Failed())
			}
		})
	}
}

// A file whose change the planner refuses cannot be put in force.
func TestReloadIsRefused(t *testing.T) {
	s := web(2, nil)
	c := *s.File.Config
	c.Loops = 7
	s.Events = []Event{{At: time.Second, File: &plan.File{Config: &c}, Plan: s.Plan}}
	if _, err := Run(s, 1, nil); !errors.Is(err, errPlan) || !strings.Contains(err.Error(), "a reload cannot do that") {
		t.Errorf("%v", err)
	}
}

// An override is in force when it has been gathered with others.
func TestOverride(t *testing.T) {
	s := web(2, nil)
	state := plan.Maintenance
	s.Events = []Event{{At: 5 * time.Second, Plan: s.Plan, Overrides: map[plan.ServerKey]plan.Override{
		{Backend: "web", Address: serveraddr.MustParse("10.0.0.1:8080")}: {State: &state},
	}}}
	r := run(t, s, 1)
	after := r.Spans[1].Servers
	if r.Spans[0].Servers["10.0.0.1:8080"] < 100 || after["10.0.0.1:8080"] > 10 || after["10.0.0.0:8080"] < 200 {
		t.Errorf("clients of each server: %v, then %v", r.Spans[0].Servers, after)
	}
}

// A server that a plan removes is in the result.
func TestRemovedServer(t *testing.T) {
	s, next := web(2, nil), web(1, nil)
	s.Events = []Event{{At: 5 * time.Second, File: next.File, Plan: next.Plan}}
	r := run(t, s, 1)
	if len(r.Servers) != 2 || r.Servers[1].State != removed || r.Servers[1].Connections < 100 || r.Servers[1].Peak == 0 {
		t.Errorf("servers: %+v", r.Servers)
	}
}

// An override of a server that discovery has not found yet is refused, and the run goes on.
func TestOverrideIsRefused(t *testing.T) {
	s := web(2, nil)
	state := plan.Drain
	s.Events = []Event{{At: time.Second, Plan: s.Plan, Overrides: map[plan.ServerKey]plan.Override{
		{Backend: "web", Address: serveraddr.MustParse("10.0.0.9:8080")}: {State: &state},
	}}}
	r := run(t, s, 1)
	refused := slices.ContainsFunc(r.Marks, func(m Mark) bool { return strings.Contains(m.Text, "no such server") })
	if !refused || r.Failed() > 0 {
		t.Errorf("%d failed, and it happened: %v", r.Failed(), r.Marks)
	}
}

// The proxy takes no plan when it has stopped.
func TestReloadAfterTheStop(t *testing.T) {
	s, next := web(2, nil), web(1, nil)
	s.Events = []Event{{At: time.Second, Stop: true}, {At: 2 * time.Second, File: next.File, Plan: next.Plan}}
	if _, err := Run(s, 1, nil); !errors.Is(err, errPlan) {
		t.Errorf("%v", err)
	}
}
