package plan

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// small returns a file with a listener "web" and a backend "app" with two servers.
func small() *File {
	c := config.New()
	l, b := config.NewListener(), config.NewBackend()
	l.Name, l.Backend, l.Address = "web", "app", config.Address{Host: "127.0.0.1", Port: 80}
	b.Name = "app"
	for i := range 2 {
		s := config.NewServer()
		s.Address = config.Address{Host: fmt.Sprintf("10.0.0.%d", i+1), Port: 80}
		b.Servers = append(b.Servers, s)
	}
	c.Listeners, c.Backends = []config.Listener{l}, []config.Backend{b}
	return &File{Config: c}
}

func merged(t *testing.T, p Parts) *Plan {
	t.Helper()
	m, err := Merge(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Every change has a line that names the setting as the file does.
func TestLines(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*config.Config)
		want   []string
	}{
		{"nothing", func(*config.Config) {}, nil},
		{"a listener's setting", func(c *config.Config) { c.Listeners[0].MaxConnections = 100 },
			[]string{"listener web: max_connections 0 → 100"}},
		{"a setting of a setting", func(c *config.Config) { c.Listeners[0].SourceRate.IPv4Prefix = 24 },
			[]string{"listener web: source_rate.ipv4_prefix 32 → 24"}},
		{"a listener's name", func(c *config.Config) { c.Listeners[0].Name = "www" },
			[]string{`listener web: name "web" → "www"`}},
		{"a listener's address", func(c *config.Config) { c.Listeners[0].Address.Port = 81 },
			[]string{"listener web: added on 127.0.0.1:81", "listener web: removed from 127.0.0.1:80"}},
		{"servers", func(c *config.Config) { c.Backends[0].Servers[0].Address.Host = "10.0.0.3" },
			[]string{"backend app: -10.0.0.1:80 +10.0.0.3:80"}},
		{"a server", func(c *config.Config) { s := &c.Backends[0].Servers[0]; s.Weight, s.State = 7, "drain" },
			[]string{"backend app: server 10.0.0.1:80: weight 1 → 7, state up → drain"}},
		{"policies", func(c *config.Config) {
			b := &c.Backends[0]
			b.Check.TLSServerName, b.IdleTimeout, b.Buffer = "a.test", time.Minute, config.MiB
		}, []string{`backend app: check.tls_server_name "" → "a.test", idle_timeout 10m0s → 1m0s, buffer 64KiB → 1MiB`}},
		{"a secret", func(c *config.Config) { c.Backends[0].Check.Send = "AUTH s3cret" },
			[]string{"backend app: check.send changed"}},
		{"a server's check", func(c *config.Config) { c.Backends[0].Servers[0].Check.Send = "AUTH s3cret" },
			[]string{"backend app: server 10.0.0.1:80: check changed"}},
		{"a secret in a step", func(c *config.Config) {
			c.Backends[0].Check.Steps = []config.CheckStep{{Send: "AUTH s3cret", Expect: "+OK"}}
		}, []string{"backend app: check.steps changed"}},
		{"the process", func(c *config.Config) { c.Limits.Rate.Connections, c.Drain.Spread = 5, time.Second },
			[]string{"limits: rate.connections 0 → 5", "drain: spread 0s → 1s"}},
		{"a backend", func(c *config.Config) {
			b := c.Backends[0]
			b.Name = "other"
			c.Backends = []config.Backend{b}
			c.Listeners[0].Backend = "other"
		}, []string{`listener web: backend "app" → "other"`, "backend other: added with 2 servers", "backend app: removed"}},
	} {
		next := small()
		test.change(next.Config)
		d := Compare(merged(t, Parts{File: small()}), merged(t, Parts{File: next}))
		if diff := cmp.Diff(test.want, d.Lines(100)); diff != "" {
			t.Errorf("%s:\n%s", test.name, diff)
		}
		if d.Empty() != (test.want == nil) {
			t.Errorf("%s: empty: %v", test.name, d.Empty())
		}
	}
}

// Files of TLS that have changed have a line, though no setting differs.
func TestLinesOfKeys(t *testing.T) {
	a := certstest.New(t)
	parts := func() Parts {
		t.Helper()
		f := small()
		l, b := &f.Config.Listeners[0], &f.Config.Backends[0]
		l.TLS.Certificates = []config.Certificate{{Cert: filepath.Join(a.Dir, "web.pem")}}
		l.TLS.ClientAuth, l.TLS.ClientCA = "require", filepath.Join(a.Dir, "clients.pem")
		b.TLS.Enabled, b.TLS.CA, b.TLS.Cert = true, filepath.Join(a.Dir, "clients.pem"), filepath.Join(a.Dir, "own.pem")
		r := config.NewRoute()
		r.SNI, r.Backend = []string{"route.test"}, "app"
		r.TLS.Certificates = []config.Certificate{{Cert: filepath.Join(a.Dir, "route.pem")}}
		l.Routes = []config.Route{{SNI: []string{"a.test"}, Backend: "app"}, r}
		server, wrong := certs.LoadServer(&l.TLS, nil)
		ofRoute, ofRouteWrong := certs.LoadServer(&r.TLS, nil)
		wrong = append(wrong, ofRouteWrong...)
		client, alsoWrong := certs.LoadClient(&b.TLS, nil)
		if len(wrong)+len(alsoWrong) != 0 {
			t.Fatal(wrong, alsoWrong)
		}
		f.RouteServers = map[string][]*certs.Server{"web": {nil, ofRoute}}
		f.Servers, f.Clients = map[string]*certs.Server{"web": server}, map[string]*certs.Client{"app": client}
		return Parts{File: f}
	}
	authorities := func(of *certstest.Authority) {
		text, err := os.ReadFile(of.File)
		if err != nil {
			t.Fatal(err)
		}
		a.Write("clients.pem", text)
	}
	authorities(a)
	a.Issue("web", certstest.Key(t), time.Hour, "web.test")
	a.Issue("own", certstest.Key(t), time.Hour)
	a.Issue("route", certstest.Key(t), time.Hour, "route.test")
	before := merged(t, parts())
	for _, test := range []struct {
		name   string
		change func()
		want   []string // each is the beginning of a line
	}{
		{"nothing", func() {}, nil},
		{"a listener's certificate", func() { a.Issue("web", certstest.Key(t), time.Hour, "new.test") },
			[]string{"listener web: certificates reloaded: new.test expires 2"}},
		{"a route's certificate", func() { a.Issue("route", certstest.Key(t), time.Hour, "other.test") },
			[]string{"listener web: route 2: certificates reloaded: other.test expires 2"}},
		{"a backend's certificate", func() { a.Issue("own", certstest.Key(t), time.Hour) },
			[]string{"backend app: certificates reloaded: own expires 2"}},
		{"the authorities", func() { authorities(certstest.New(t)) },
			[]string{"listener web: TLS files reloaded", "backend app: TLS files reloaded"}},
	} {
		test.change()
		now := parts()
		next, err := MergeFrom(before, &now, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := Compare(before, next)
		lines := d.Lines(100)
		same := slices.EqualFunc(lines, test.want, strings.HasPrefix)
		if !same || d.Empty() != (test.want == nil) {
			t.Errorf("%s: got %q, want %q", test.name, lines, test.want)
		}
		before = next
	}
}

// There are never more lines than asked for, and one more, and no line lists thousands of servers.
func TestLinesAreBounded(t *testing.T) {
	next, found := small(), []Server{}
	for i := range 5000 {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 80)
		found = append(found, Server{Address: serveraddr.IP(at), Weight: 1})
	}
	d := config.NewDNS()
	d.Name = "a.test"
	next.Config.Backends[0].DNS = []config.DNS{d}
	parts := Parts{File: next, Discovered: map[Source][]Server{SourceOf(&next.Config.Backends[0], &d): found}}
	many := merged(t, parts)
	diff := Compare(merged(t, Parts{File: small()}), many)
	lines := diff.Lines(100)
	if len(lines) != 1 || !strings.HasSuffix(lines[0], " and 4984 more") {
		t.Errorf("got %q", lines)
	}
	for i := range found {
		found[i].Weight = 2
	}
	diff = Compare(many, merged(t, parts))
	if lines := diff.Lines(100); len(lines) != 101 || lines[100] != "and 4900 more" {
		t.Errorf("%d lines, the last one is %q", len(lines), lines[len(lines)-1])
	}
}
