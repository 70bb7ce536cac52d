package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
)

// A scraped is a reactord that serves, with its metrics.
type scraped struct {
	*exec.Cmd
	dir       string
	metrics   string            // the URL
	listeners map[string]string // addresses by name

	mu  sync.Mutex
	log bytes.Buffer
}

// scrapedWith starts reactord with a configuration. Its metrics and listeners may have port 0.
func scrapedWith(t testing.TB, text string) *scraped {
	t.Helper()
	s := &scraped{dir: t.TempDir(), listeners: map[string]string{}}
	s.write(t, text)
	s.Cmd = exec.Command(os.Args[0], "serve", "-c", s.file())
	s.Env = append(os.Environ(), asReactord+"=1")
	stderr, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	up, ended := make(chan struct{}), make(chan struct{})
	go s.read(stderr, up, ended)
	t.Cleanup(func() {
		_ = s.Process.Kill()
		<-ended
		_ = s.Wait()
	})
	select {
	case <-up:
	case <-ended:
		t.Fatalf("reactord has ended: %s", s.said())
	case <-time.After(30 * time.Second):
		t.Fatalf("reactord does not serve: %s", s.said())
	}
	return s
}

// read reads the log until it ends. Where reactord listens is known when up is closed.
func (s *scraped) read(log io.Reader, up, ended chan struct{}) {
	defer close(ended)
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var line struct{ Msg, Listener, Address string }
		_ = json.Unmarshal(lines.Bytes(), &line)
		s.mu.Lock()
		s.log.Write(append(lines.Bytes(), '\n'))
		s.mu.Unlock()
		switch line.Msg {
		case "listening":
			s.listeners[line.Listener] = strings.TrimPrefix(line.Address, "udp://")
		case "metrics":
			s.metrics = "http://" + line.Address + "/metrics"
			close(up)
		}
	}
}

func (s *scraped) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// await waits until the log has a text.
func (s *scraped) await(t testing.TB, text string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for ; !strings.Contains(s.said(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the log has no %s: %s", text, s.said())
		}
	}
}

func (s *scraped) file() string { return filepath.Join(s.dir, "reactord.yaml") }

func (s *scraped) write(t testing.TB, text string) {
	t.Helper()
	if err := os.WriteFile(s.file(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *scraped) reload(t testing.TB) {
	t.Helper()
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// page is what a scrape gets in the text format.
func (s *scraped) page(t testing.TB) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	answer, err := client.Get(s.metrics)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v: %s", answer.Status, err, text)
	}
	return string(text)
}

// families are the families of reactord on the page, by name.
func (s *scraped) families(t testing.TB) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(s.page(t)))
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(all, func(name string, _ *dto.MetricFamily) bool { return !strings.HasPrefix(name, "reactord_") })
	return all
}

// expect waits until the page has all these lines.
func (s *scraped) expect(t testing.TB, lines ...string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		page := "\n" + s.page(t)
		missing := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return strings.Contains(page, "\n"+l+"\n") })
		if len(missing) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, l := range missing {
				name, _, _ := strings.Cut(l, "{")
				has := regexp.MustCompile(`(?m)^`+strings.Fields(name)[0]+`.*$`).FindAllString(page, -1)
				t.Errorf("there is no %s\nbut %s", l, strings.Join(has, "\n    "))
			}
			t.FailNow()
		}
	}
}

// A fleet is how many there are of what has series of its own.
type fleet struct {
	loops, listeners, udp, tls, certificates, backends, backendsTLS, servers, sources, xds int
	sets                                                                                   int
	noServers                                                                              bool   // per_server: false
	detail                                                                                 string // "": full
}

// yaml is a configuration of the fleet. Nothing connects to its servers.
func (f fleet) yaml(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "ring: epoll\nloops: %d\nmetrics: {address: 127.0.0.1:0, per_server: %t, detail: %s}\n",
		f.loops, !f.noServers, cmp.Or(f.detail, "full"))
	if f.xds > 0 {
		b.WriteString("xds: {servers: ['http://127.0.0.1:1'], initial_fetch_timeout: 1ms}\n")
	}
	if f.sets > 0 {
		b.WriteString("sets:\n")
	}
	for i := range f.sets {
		entries := filepath.Join(t.TempDir(), "entries")
		if err := os.WriteFile(entries, []byte("192.0.2.1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "- {name: s%d, files: [{path: %s}]}\n", i, entries)
	}
	b.WriteString("listeners:\n")
	for i := range f.listeners {
		fmt.Fprintf(&b, "- {name: l%d, backend: b0, address: 127.0.0.1:0}\n", i)
	}
	for i := range f.udp {
		fmt.Fprintf(&b, "- {name: u%d, backend: b0, address: 'udp://127.0.0.1:0'}\n", i)
	}
	if f.tls > 0 {
		authority := certstest.New(t)
		cert := authority.Issue("a", certstest.Key(t), time.Hour, "a.example")
		other := authority.Issue("b", certstest.Key(t), time.Hour, "b.example")
		for i := range f.tls {
			fmt.Fprintf(&b, "- {name: t%d, backend: b0, address: 127.0.0.1:0, tls: {certificates: [{cert: %s}", i, cert)
			for range f.more(i, f.tls, f.certificates-f.tls) {
				fmt.Fprintf(&b, ", {cert: %s}", other)
			}
			b.WriteString("]}}\n")
		}
	}
	b.WriteString("backends:\n")
	list := filepath.Join(t.TempDir(), "none.json")
	if err := os.WriteFile(list, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	servers := 0
	for i := range f.backends + f.backendsTLS {
		fmt.Fprintf(&b, "- name: b%d\n", i)
		if i >= f.backends {
			b.WriteString("  tls: {enabled: true, insecure: true}\n")
		}
		b.WriteString("  servers:\n")
		for range f.more(i, f.backends+f.backendsTLS, f.servers) {
			fmt.Fprintf(&b, "  - 10.0.%d.%d:80\n", servers/250, servers%250+1)
			servers++
		}
		if f.more(i, f.backends+f.backendsTLS, f.sources) > 0 {
			fmt.Fprintf(&b, "  files: [{path: %s}]\n", list)
		}
	}
	return b.String()
}

// more is which part of n the i-th of so many has.
func (fleet) more(i, of, n int) int { return n*(i+1)/of - n*i/of }

// A group is series that exist once for each of something.
type group struct {
	name, of, when string
	labels         []string
	only           []string // families; empty: all with these labels
	count          func(f *fleet) int
}

func (g *group) has(f *dto.MetricFamily) bool {
	if len(g.only) > 0 {
		return slices.Contains(g.only, f.GetName())
	}
	labels := labelsOf(f)
	return !slices.ContainsFunc(g.labels, func(l string) bool { return !slices.Contains(labels, l) })
}

// groups are all of them. A family is of the first group that has it.
var groups = []group{
	{"Servers", "S", "For each server of the plan, discovered ones too, unless `metrics.per_server` is `false`. " +
		"They go when the server goes.", []string{"backend", "server"}, nil, func(f *fleet) int {
		if f.noServers {
			return 0
		}
		return f.servers
	}},
	{"Sources of servers", "D", "For each entry of `dns`, `files` and `http` of a backend.",
		[]string{"backend", "source"}, nil, func(f *fleet) int { return f.sources }},
	{"Live sets", "Z", "For each live set of `sets` with one source; those with the label `source` for each further " +
		"file, URL or API of CrowdSec.", []string{"set"}, nil, func(f *fleet) int { return f.sets }},
	{"Control planes", "X", "If there is a control plane (`xds.servers`).", nil, []string{
		"reactord_xds_connected", "reactord_xds_restored", "reactord_xds_last_heard_timestamp_seconds",
		"reactord_xds_last_failure_timestamp_seconds", "reactord_xds_reconnects_total", "reactord_xds_changes_total",
		"reactord_xds_last_accepted_timestamp_seconds", "reactord_xds_last_refused_timestamp_seconds",
		"reactord_xds_pushes_total", "reactord_xds_refused_pushes_total", "reactord_xds_version_info",
		"reactord_xds_resources",
	}, func(f *fleet) int { return f.xds }},
	{"Certificates", "C", "For each certificate of a listener.", []string{"index", "listener", "name"}, nil,
		func(f *fleet) int { return f.certificates }},
	{"Listeners of UDP", "U", "For each listener of UDP, beside the series of each listener.", []string{"listener"},
		[]string{"reactord_udp_sessions", "reactord_udp_sessions_total"}, func(f *fleet) int { return f.udp }},
	{"Listeners with TLS", "T", "For each listener that ends TLS, beside the series of each listener.",
		[]string{"listener"}, []string{"reactord_listener_tls_handshakes_total"}, func(f *fleet) int { return f.tls }},
	{"Backends with TLS", "E", "For each backend with TLS to its servers, beside the series of each backend.",
		[]string{"backend"}, []string{"reactord_backend_tls_handshakes_total"}, func(f *fleet) int { return f.backendsTLS }},
	{"Rings", "K", "For each kind of ring that loops run on: usually one.", nil,
		[]string{"reactord_io_backend_info", "reactord_io_ring_info"}, func(*fleet) int { return 1 }},
	{"Listeners", "L", "For each listener, from its first plan to its last one.", []string{"listener"}, nil,
		func(f *fleet) int { return f.listeners + f.udp + f.tls }},
	{"Backends", "B", "For each backend, from its first plan to its last one.", []string{"backend"}, nil,
		func(f *fleet) int { return f.backends + f.backendsTLS }},
	{"Loops", "R", "For each loop.", []string{"reactor"}, nil, func(f *fleet) int { return f.loops }},
	{"Process", "", "Once.", nil, nil, func(*fleet) int { return 1 }},
}

// groupOf is the index of the group of a family.
func groupOf(f *dto.MetricFamily) int {
	return slices.IndexFunc(groups, func(g group) bool { return g.has(f) })
}

// labelsOf are the names of the labels of a family.
func labelsOf(f *dto.MetricFamily) (names []string) {
	for _, l := range f.Metric[0].Label {
		names = append(names, l.GetName())
	}
	return names
}

// seriesOf is how many series a family has in the text format.
func seriesOf(f *dto.MetricFamily) (n int) {
	for _, m := range f.Metric {
		n++
		if h := m.Histogram; h != nil {
			n += len(h.Bucket) + 1
		}
	}
	return n
}

// countGroups is how many series each group has.
func countGroups(t testing.TB, families map[string]*dto.MetricFamily) []int {
	t.Helper()
	counts := make([]int, len(groups))
	for _, f := range families {
		counts[groupOf(f)] += seriesOf(f)
	}
	return counts
}

// everything is a fleet with all kinds of series.
var everything = fleet{
	loops: 2, listeners: 2, udp: 1, tls: 2, certificates: 3, backends: 2, backendsTLS: 1, servers: 4, sources: 2, xds: 1,
	sets: 2,
}

// perGroup is how many series one of each group has.
func perGroup(t testing.TB, families map[string]*dto.MetricFamily) []int {
	t.Helper()
	counts := countGroups(t, families)
	for i, g := range groups {
		if counts[i]%g.count(&everything) != 0 {
			t.Fatalf("%s: %d series for %d", g.name, counts[i], g.count(&everything))
		}
		counts[i] /= g.count(&everything)
	}
	return counts
}

// The formula of docs/metrics.md holds for fleets of several sizes.
func TestSeriesFormula(t *testing.T) {
	each := perGroup(t, scrapedWith(t, everything.yaml(t)).families(t))
	for _, f := range []fleet{
		{loops: 1, listeners: 1, backends: 1, servers: 1},
		{
			loops: 3, listeners: 1, udp: 4, tls: 1, certificates: 5, backends: 1, backendsTLS: 2, servers: 7, sources: 3,
			sets: 3,
		},
		{loops: 2, listeners: 30, backends: 20, servers: 400},
		{loops: 2, listeners: 30, backends: 20, servers: 400, noServers: true},
	} {
		want := 0
		for i, g := range groups {
			want += each[i] * g.count(&f)
		}
		got := 0
		for _, n := range countGroups(t, scrapedWith(t, f.yaml(t)).families(t)) {
			got += n
		}
		if got != want {
			t.Errorf("%+v: %d series, the formula says %d", f, got, want)
		}
	}
}

// echo is a server that sends back what it gets.
func echo(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return l.Addr().String()
}
