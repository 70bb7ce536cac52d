package laboratory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/laboratory/simulation"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// The scenarios of the examples hold.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../../../../docs/examples/scenarios/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			s, err := ReadScenario(path)
			if err != nil {
				t.Fatal(err)
			}
			l, err := Open(t.Context(), s.Config)
			if err != nil {
				t.Fatal(err)
			}
			built, err := l.Build(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			played, err := Play(built, &s.Expect, 1, 3, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range played.Names {
				v := played.Verdicts[name]
				t.Logf("%+v", v)
				if !v.Holds {
					t.Errorf("%s is %s, want %s: %s", v.Name, v.Got, v.Bound, v.Moment)
				}
			}
		})
	}
}

// workshop configures a proxy to which much can happen.
const workshop = `
listeners:
  - {name: web, address: "10.1.0.1:80", backend: app}
  - {name: mail, address: "[::]:25", backend: mail}
backends:
  - name: app
    servers:
      - {name: a, address: "10.0.0.1:80", locality: one}
      - {name: b, address: "10.0.0.2:80", locality: two}
    check: {interval: 1s, timeout: 500ms}
    connect_timeout: 1s
  - name: mail
    dns: [{name: mail.example.org, port: 25}]
`

// open opens a configuration.
func open(t *testing.T, text string) *Laboratory {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reactord.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// build builds a scenario of a configuration.
func build(t *testing.T, l *Laboratory, text string) (*simulation.Scenario, *SimulatedExpectation, error) {
	t.Helper()
	s, wrong := parseScenario(filepath.Join(t.TempDir(), "scenario.yaml"), []byte(text))
	if len(wrong) > 0 {
		return nil, nil, placed("scenario.yaml", wrong)
	}
	built, err := l.Build(t.Context(), s)
	return built, &s.Expect, err
}

// Everything that can happen does, and no byte is lost.
func TestEverythingHappens(t *testing.T) {
	l := open(t, workshop)
	next := filepath.Join(t.TempDir(), "next.yaml")
	if err := os.WriteFile(next, []byte(strings.ReplaceAll(workshop, "10.0.0.2", "10.0.0.3")), 0o600); err != nil {
		t.Fatal(err)
	}
	s, expect, err := build(t, l, fmt.Sprintf(`
duration: 20s
loops: 3
ttl: 5s
clients:
  - {name: people, listener: web, rate: 30, burst: 20, every: 4s, from: 192.0.2.0/24, end: close, pause: 50ms}
  - {name: robots, listener: mail, rate: 10, exchanges: 1, request: 40KiB, response: 200KiB, read_rate: 400KiB, end: reset}
  - {name: tls, listener: web, rate: 5, tls: true, sni: www.example.org, alpn: [h2], latency: 20ms, handshake: 2ms, begin: 2s}
servers:
  default: {latency: 2ms}
  app: {latency: 10ms, workers: 20}
  app/a: {latency: 1ms, connections: 100}
zones:
  two: {latency: 3ms, jitter: 1ms, loss: 0.1%%}
events:
  - {at: 2s, servers: [app/a], do: refuse, for: 1s}
  - {at: 4s, servers: [app], do: crawl, for: 500ms, every: 6s}
  - {at: 5s, zones: [two], network: cut, for: 1s}
  - {at: 7s, servers: [app/b], state: drain}
  - {at: 9s, servers: [app/b], state: up}
  - {at: 10s, discovered: {mail: ["10.9.0.1:25"]}}
  - {at: 11s, clients: [people], rate: 60}
  - {at: 12s, reload: %s}
  - {at: 13s, servers: [app/a], do: reset, for: 100ms}
  - {at: 14s, unanswered: [mail]}
  - {at: 19s, proxy: stop}
expect: {failed: 50%%, connections: 1000, server_connections: 1000, retries: 50%%, queue_wait: 1s, answer: 20s, recovery: 20s}
`, next))
	if err != nil {
		t.Fatal(err)
	}
	played, err := Play(s, expect, 1, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range played.Runs {
		t.Logf("%d clients: %v, %v", r.Clients, r.Outcomes, r.Ends)
		for _, m := range r.Marks {
			t.Logf("%v %s", m.At, m.Text)
		}
		if r.Clients < 500 || r.Outcomes[simulation.Answered] < r.Clients/2 || r.Outcomes[simulation.Changed] != 0 {
			t.Errorf("of %d clients: %v", r.Clients, r.Outcomes)
		}
		served := 0
		for _, s := range r.Servers {
			if s.Connections > 0 {
				served++
			}
		}
		if served < 3 {
			t.Errorf("servers: %+v", r.Servers)
		}
		var page bytes.Buffer
		p := &Page{Title: "<it>"}
		p.Add("a run", r)
		if err := p.Write(&page); err != nil || !strings.Contains(page.String(), "&lt;it&gt;") ||
			strings.Count(page.String(), "<figure>") != 3 || strings.Contains(page.String(), "http://") {
			t.Errorf("the page: %v\n%s", err, page.String())
		}
		page.Reset()
		if Timeline(&page, r, 40); strings.Count(page.String(), "\n") != 4 {
			t.Errorf("the timeline:\n%s", page.String())
		}
	}
}

// Clients, servers and plans of odd kinds are simulated, and the same again with the same seed.
func TestOddities(t *testing.T) {
	for name, text := range map[string]string{
		"IPv6 first": `
listeners: [{name: web, address: "10.1.0.1:80", backend: app, proxy_protocol: {trusted: ["fd00::/8", 10.0.0.0/8]},
  allow: ["2001:db8::/32", 192.0.2.0/24], routes: [{name: six, sources: ["2001:db8:1::/48"], backend: app}]}]
backends: [{name: app, servers: ["10.0.0.1:80"]}]
`,
		"a listener is a server": `
listeners: [{name: outer, address: "10.1.0.1:443", backend: inner}, {name: inner, address: "127.0.0.1:8443", backend: app}]
backends: [{name: inner, servers: ["127.0.0.1:8443"]}, {name: app, servers: ["10.0.0.1:80"]}]
`,
		"a check at the port of another server": `
listeners: [{name: web, address: "10.1.0.1:80", backend: app}, {name: health, address: "10.1.0.1:81", backend: health}]
backends:
  - {name: app, servers: ["10.0.0.1:80"], check: {interval: 1s, port: 8080}}
  - {name: health, servers: ["10.0.0.1:8080"]}
`,
		"a destination behind a proxy": `
listeners: [{name: web, address: "10.1.0.1:80", proxy_protocol: {trusted: [10.0.0.0/8]},
  routes: [{name: there, destinations: [192.0.2.0/24], backend: app}]}]
backends: [{name: app, servers: ["10.0.0.1:80"]}]
`,
	} {
		t.Run(name, func(t *testing.T) {
			s, _, err := build(t, open(t, text), "duration: 5s\nrate: 40")
			if err != nil {
				t.Fatal(err)
			}
			r, err := simulation.Run(s, 3, nil)
			if err != nil || r.Clients < 50 || r.Failed() > 0 {
				t.Fatalf("%v: %+v", err, r)
			}
		})
	}
	many := "listeners: [{name: web, address: \"10.1.0.1:80\", routes: ["
	for i := range 5 {
		many += fmt.Sprintf("{name: r%d, sources: [198.18.%d.0/24], backend: b%d}, ", i, i, i)
	}
	many += "]}]\nbackends:\n"
	for i := range 5 {
		const backend = "  - {name: b%d, max_connections: 2, servers: [\"10.0.0.%d:80\"], check: {interval: 1s}}\n"
		many += fmt.Sprintf(backend, i, i+1)
	}
	next := filepath.Join(t.TempDir(), "next.yaml")
	roomy := strings.ReplaceAll(many, "max_connections: 2", "max_connections: 8")
	if err := os.WriteFile(next, []byte(roomy), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := build(t, open(t, many), "duration: 5s\nrate: 60\nevents: [{at: 2s, reload: "+next+"}]")
	if err != nil {
		t.Fatal(err)
	}
	var first *simulation.Result
	for range 5 {
		r, err := simulation.Run(s, 3, nil)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = r
		}
		if !reflect.DeepEqual(first, r) {
			t.Fatalf("two runs with one seed differ: %v, %v", first.Outcomes, r.Outcomes)
		}
	}
}

// More clients than a run can have are refused, also if an event brings them.
func TestTooManyClients(t *testing.T) {
	l := open(t, workshop)
	for _, text := range []string{
		"duration: 24h\nrate: 1000",
		"duration: 24h\nrate: 1\nevents: [{at: 1s, rate: 1000}]",
		"duration: 24h\nclients: [{listener: web, burst: 1000, every: 1s}]",
	} {
		if _, _, err := build(t, l, text); !errors.Is(err, ErrTooMany) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, _, err := build(t, l, "duration: 24h\nrate: 1\nevents: [{at: 1s, rate: 1000}, {at: 2s, rate: 1}]"); err != nil {
		t.Error(err)
	}
}

// A scenario that fails names its seed, the moment and the client, and becomes smaller.
func TestShrink(t *testing.T) {
	l := open(t, workshop)
	s, expect, err := build(t, l, `
duration: 12s
clients:
  - {name: people, listener: web, rate: 40}
  - {name: others, listener: mail, rate: 10}
events:
  - {at: 2s, servers: [mail], do: crawl, for: 100ms}
  - {at: 4s, servers: [app], do: refuse}
  - {at: 6s, servers: [mail], do: crawl, for: 100ms}
expect: {refused: 0}
`)
	if err != nil {
		t.Fatal(err)
	}
	played, err := Play(s, expect, 5, 1, nil)
	if err != nil || !slices.Equal(played.Failed, []uint64{5}) {
		t.Fatalf("%+v, %v", played, err)
	}
	if v := played.Verdicts["refused"]; v.Holds || !strings.Contains(v.Moment, "of people, which came at") {
		t.Errorf("%+v", v)
	}
	smaller, left, err := Shrink(s, expect, 5)
	if err != nil || len(smaller.Events) != 1 || len(smaller.Clients) != 1 || smaller.Clients[0].Rate > 10 {
		t.Errorf("%d events, %d groups of clients, %v, %v", len(smaller.Events), len(smaller.Clients), left, err)
	}
	if _, _, err := Shrink(smaller, &SimulatedExpectation{}, 5); !errors.Is(err, ErrShrink) {
		t.Errorf("shrinking what holds: %v", err)
	}
}

// Mistakes have their places.
func TestScenarioMistakes(t *testing.T) {
	l := open(t, workshop)
	for text, want := range map[string]string{
		"duration: soon":     `1:11: duration: "soon" is no time: write it as 500ms, 10s or 1h`,
		"durations: 1s":      "1:1: durations is unknown: write config, duration",
		"events: [{at: 1s}]": "1:10: nothing happens: write servers and do",
		"events: [{at: 1s, servers: [app/x], do: refuse}]":           `1:10: backend app has no server "x"`,
		"events: [{at: 1s, servers: [other], do: refuse}]":           `1:10: there is no backend "other"`,
		"events: [{at: 1s, servers: [app], do: die}]":                `1:39: do "die" is unknown: write one of work, refuse`,
		"events: [{at: 1s, zones: [one]}]":                           "zones and network belong together",
		"events: [{at: 1s, discovered: {app: []}}]":                  `backend "app" has no discovery`,
		"events: [{at: 0s, unanswered: [app]}]":                      `unanswered: backend "app" has no discovery`,
		"events: [{at: 1s, reload: none.yaml}]":                      "reload: ",
		"events: [{at: 1s, every: 1s, proxy: stop}]":                 "for and every are of servers",
		"events: [{at: 1s, rate: 5, clients: [x]}]":                  `there are no clients "x"`,
		"clients: [{listener: web}]":                                 "no rate: write how many",
		"clients: [{listener: x, rate: 1}]":                          `there is no listener "x" that is simulated: write one of mail, web`,
		"clients: [{rate: 1}]":                                       "no listener: write one of mail, web",
		"clients: [{listener: web, rate: 1, from: here}]":            "from: ",
		"clients: [{listener: web, rate: 1, exchanges: 1.5}]":        "exchanges is a whole number",
		"expect: {refused: many}":                                    `refused: "many" is no bound`,
		"events: [{at: 1h, proxy: stop}]":                            "at 1h0m0s is when no clients come any more",
		"events: [{at: 1s, servers: [app], do: hang, state: drain}]": "do and state are two events",
		"events: [{at: 1s, servers: [app], do: work, for: 1s}]":      "for is of servers that fail",
		"events: [{at: 1s, zones: [x], network: cut}]":               `no server is in the zone "x": write some of one, two`,
		"clients: [{listener: web, rate: 1, tls: false, sni: a}]":    "remove tls: false",
		"rate: 5\nclients: [{listener: web, rate: 1}]":               "rate is that of clients of which nothing is said",
		"expect: {refused: 101%}":                                    `"101%" is no bound`,
		"rate: NaN":                                                  "rate is a number",
		"rate: -5":                                                   "rate is from 0 to",
		"loops: 1000":                                                "loops are at most",
		"zones: {x: {loss: 1%}}":                                     `no server is in the zone "x"`,
		"events: [{at: 1s, rate: 1e12}]":                             "rate is from 0 to",
		"clients: [{listener: web, rate: 1, from: 2001:db8::/64}]":   "cannot reach 10.1.0.1",
		"zones: {one: {loss: 2}}":                                    `loss: "2" is no percentage`,
		"zones: {one: {loss: 200%}}":                                 `loss: "200%" is no percentage`,
		"servers: {app/z: {workers: 1}}":                             `backend app has no server "z"`,
	} {
		_, _, err := build(t, l, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
			continue
		}
		if e, ok := errors.AsType[*config.Error](err); !ok || e.Line < 1 || e.Column < 1 {
			t.Errorf("%s: %#v has no place", text, err)
		}
	}
}

// Any configuration that check accepts can be simulated.
func FuzzSimulation(f *testing.F) {
	f.Add([]byte(workshop))
	for _, path := range []string{"testdata/faults.txt", "testdata/sound.txt"} {
		for _, p := range readPlanted(f, path) {
			f.Add([]byte(p.text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l := ofText(text)
		if l == nil {
			return
		}
		form := scenarioForm{Rate: 50, Duration: Duration(300 * time.Millisecond)}
		s, err := l.Build(context.Background(), &Scenario{form: form})
		if err != nil {
			return // what check also refuses
		}
		if r, err := simulation.Run(s, 1, nil); err != nil {
			t.Errorf("%v, of\n%s", err, text)
		} else if r.Outcomes[simulation.Changed] > 0 {
			t.Errorf("bytes have changed: %v, of\n%s", r.Failures, text)
		}
	})
}

// ofText returns the laboratory of a small configuration that check accepts, without files and names to look up, or
// nil.
func ofText(text []byte) *Laboratory {
	const many = 20
	cfg, _, err := config.Parse("fuzz", text)
	if err != nil || len(cfg.Listeners) > many || len(cfg.Backends) > many || len(cfg.Validate()) > 0 {
		return nil
	}
	for i := range cfg.Listeners {
		l := &cfg.Listeners[i]
		if len(l.TLS.Certificates) > 0 || len(l.Routes) > many || len(l.Address.Ports()) > many {
			return nil
		}
		for n := range l.Routes {
			if len(l.Routes[n].TLS.Certificates) > 0 {
				return nil
			}
		}
	}
	for i := range cfg.Backends {
		if cfg.Backends[i].TLS.Enabled || len(cfg.Backends[i].Servers) > many {
			return nil
		}
	}
	file := &plan.File{Config: cfg}
	p, err := plan.Merge(plan.Parts{File: file})
	if err != nil {
		return nil
	}
	for i := range p.Listeners {
		if l := &p.Listeners[i]; simulation.Simulates(l) && !l.Bind.IsValid() {
			return nil
		}
	}
	for i := range p.Backends {
		for _, s := range p.Backends[i].Servers {
			if !s.Address.IsUnix() && !s.Address.AddrPort().IsValid() {
				return nil
			}
		}
	}
	return &Laboratory{file, p}
}

// A source that a reload removes, and the next one adds again, finds what it found.
func TestSourceThatComesBack(t *testing.T) {
	l := open(t, workshop)
	other := strings.Replace(workshop, "mail.example.org", "post.example.org", 1)
	if other == workshop {
		t.Fatal("the workshop has no such name")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": workshop, "b.yaml": other} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, _, err := build(t, l, fmt.Sprintf(`
events:
  - {at: 1s, discovered: {mail: ["10.9.0.1:25"]}}
  - {at: 2s, reload: %s}
  - {at: 3s, reload: %s}
  - {at: 4s, servers: ["mail/10.9.0.1:25"], state: drain}
`, filepath.Join(dir, "b.yaml"), filepath.Join(dir, "a.yaml")))
	if err != nil || len(s.Events[3].Overrides) != 1 {
		t.Errorf("%v, %+v", err, s)
	}
}
