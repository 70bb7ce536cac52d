package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/reactord/reactord/internal/testenv"
)

// A prometheus is a running Prometheus.
type prometheus struct {
	t    *testing.T
	addr string
	http http.Client
}

// startPrometheus starts Prometheus with a configuration. Its files are gone after the test.
func startPrometheus(t *testing.T, config string) *prometheus {
	t.Helper()
	p := &prometheus{t: t, addr: testenv.Vacant(t), http: http.Client{Timeout: patience, Transport: &http.Transport{}}}
	t.Cleanup(p.http.CloseIdleConnections)
	launch(t, p.addr, need(t, "prometheus", "prometheus"), "--config.file="+writeConfig(t, config),
		"--storage.tsdb.path="+t.TempDir(), "--web.listen-address="+p.addr, "--log.level=error")
	return p
}

// scrapeConfig is the repository's example for three daemons: one that is named in it, one that is found in a file, and
// one with TLS and a password.
func scrapeConfig(t *testing.T, named, found *daemon, s *secured) string {
	t.Helper()
	text, err := os.ReadFile("../deploy/prometheus/scrape.yml")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs("../deploy/prometheus")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace(t, dir+"/reactord-a.json", fmt.Sprintf(`[{"targets": ["%s"]}]`, found.metrics))
	replace(t, dir+"/password", "secret")
	config := strings.NewReplacer(
		"15s", "500ms", "- rules.yml", "- "+rules+"/rules.yml", "- alerts.yml", "- "+rules+"/alerts.yml",
		"127.0.0.1:9093", testenv.Vacant(t), `"10.0.0.1:9090", "10.0.0.2:9090"`, named.metrics, "targets/", dir+"/",
		"reactord.example.com:9090", s.d.metrics, "reactord.example.com", "localhost",
		"username: prometheus", "username: ops",
		"/etc/prometheus/reactord.password", dir+"/password", "/etc/prometheus/reactord-ca.pem", s.path("ca.pem"),
	).Replace(string(text))
	for _, left := range []string{"10.0.0.", "example.com", "/etc/"} {
		if strings.Contains(config, left) {
			t.Fatalf("%s is left in %s", left, config)
		}
	}
	return config
}

// get reads the data of an answer of the API.
func (p *prometheus) get(path string, query url.Values, data any) error {
	resp, err := p.http.Get("http://" + p.addr + path + "?" + query.Encode())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s", answer.Error)
	}
	return nil
}

// values are what an expression is now.
func (p *prometheus) values(expr string) (all []float64, err error) {
	var data struct {
		Result []struct{ Value [2]any }
	}
	if err := p.get("/api/v1/query", url.Values{"query": {expr}}, &data); err != nil {
		return nil, err
	}
	for _, r := range data.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// awaitValues waits until every expression has a value that is a number. The keys say where it is from.
func (p *prometheus) awaitValues(exprs map[string]string) {
	p.t.Helper()
	start, n, last := time.Now(), len(exprs), ""
	for ; len(exprs) != 0; time.Sleep(100 * time.Millisecond) {
		for name, expr := range exprs {
			all, err := p.values(expr)
			switch {
			case slices.ContainsFunc(all, func(v float64) bool { return !math.IsNaN(v) }):
				delete(exprs, name)
				last = name
			case time.Since(start) > 4*patience:
				p.t.Errorf("%s: %v, %v: %s", name, all, err, expr)
				delete(exprs, name)
			}
		}
	}
	p.t.Logf("%d expressions had a value after %v, the last one: %s", n, time.Since(start), last)
}

// alertRules are the states of the alerts, and the errors of all rules.
func (p *prometheus) alertRules() (states map[string]string, errs []string) {
	p.t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct{ Name, State, Health, LastError string }
		}
	}
	if err := p.get("/api/v1/rules", nil, &data); err != nil {
		p.t.Fatal(err)
	}
	states = map[string]string{}
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			states[r.Name] = r.State
			if r.Health == "err" {
				errs = append(errs, r.Name+": "+r.LastError)
			}
		}
	}
	return states, errs
}

// A dashboard is what the test needs of a dashboard of Grafana.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ RefID, Expr string }
	}
	Templating  struct{ List []struct{ Definition string } }
	Annotations struct{ List []struct{ Expr string } }
}

// queries are the queries of a dashboard's panels and variables as Grafana sends them.
func (d dashboard) queries(file, instance string) map[string]string {
	replace := strings.NewReplacer("$job", "reactord", "$instance", instance, "$__rate_interval", "5s")
	all := map[string]string{}
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			all[fmt.Sprintf("%s: %s %s", file, p.Title, q.RefID)] = replace.Replace(q.Expr)
		}
	}
	for _, v := range d.Templating.List {
		if m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(v.Definition); m != nil {
			all[file+": variable "+m[2]] = replace.Replace(fmt.Sprintf("count by (%s) (%s)", m[2], m[1]))
		}
	}
	return all
}

// A rule of Prometheus.
type rule struct{ Record, Alert, Expr string }

func readRules(t *testing.T, path string) (all []rule) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// monitored is a configuration with something of everything that is measured.
const monitored = `
xds: {servers: ['http://127.0.0.1:1'], initial_fetch_timeout: 1ms}
metrics: {address: 127.0.0.1:0, detail: full}
access_log: {path: %[1]s/access.log}
listeners:
  - {name: web, address: 'tcp://127.0.0.1:0', backend: app}
  - {name: full, address: 'tcp://127.0.0.1:0', backend: app, max_connections: 1, on_limit: reject}
  - {name: queued, address: 'tcp://127.0.0.1:0', backend: narrow}
  - {name: tls, address: 'tcp://127.0.0.1:0', backend: secure, tls: {certificates: [{cert: '%[2]s'}]}}
  - {name: dns, address: 'udp://127.0.0.1:0', backend: dns}
backends:
  - {name: app, servers: ['%[3]s', '%[4]s'], ejection: {failures: 0}, balance: {policy: round_robin}}
  - {name: narrow, servers: [{address: '%[3]s', max_connections: 1}]}
  - {name: secure, servers: ['%[5]s'], tls: {enabled: true, insecure: true}}
  - {name: dns, servers: ['%[6]s']}
  - {name: found, files: [{path: %[1]s/servers.json}], check: {interval: 200ms}}
`

// startMonitored starts a daemon with the file above, and returns the addresses of its listeners.
func startMonitored(t *testing.T) (d *daemon, at map[string]string) {
	t.Helper()
	a, dir, server, dead := newAuthority(t), t.TempDir(), serve(t, echo), testenv.Vacant(t)
	cert := a.issue("proxy", "proxy.test")
	replace(t, filepath.Join(dir, "servers.json"), fmt.Sprintf(`[{"targets": ["%s", "%s"]}]`, server, dead))
	d = startFile(t, writeConfig(t, fmt.Sprintf(monitored, dir, cert, server, dead, tlsEcho(t, cert), udpEcho(t))))
	at = map[string]string{}
	for _, l := range d.awaitLines("listening", 5) {
		at[l.str("listener")] = strings.TrimPrefix(l.str("address"), "udp://")
	}
	return d, at
}

// tlsEcho is a server that ends TLS and sends back what it receives.
func tlsEcho(t *testing.T, cert string) (addr string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, cert)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	return serve(t, func(c *net.TCPConn) {
		s := tls.Server(c, config)
		_, _ = io.Copy(s, s)
		_ = s.Close()
	})
}

// udpEcho sends back the datagrams that it receives.
func udpEcho(t *testing.T) (addr string) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 1<<16)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(buf[:n], from)
		}
	}()
	t.Cleanup(func() { c.Close(); <-ended })
	return c.LocalAddr().String()
}

// useAll uses all listeners until the test ends. A connection that fails is a part of it.
func useAll(t *testing.T, at map[string]string) {
	t.Helper()
	dial(t, at["full"]) // stays: all others are rejected
	ctx := t.Context()  // ends before the cleanups
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	use := func(network, addr string) {
		c, err := net.DialTimeout(network, addr, time.Second)
		if err != nil {
			return
		}
		defer c.Close()
		if addr == at["tls"] {
			c = tls.Client(c, &tls.Config{InsecureSkipVerify: true}) // what it checks is not of interest here
		}
		message := bytes.Repeat([]byte("reactord"), 100)
		if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
			return
		}
		if _, err := c.Write(message); err == nil {
			_, _ = io.ReadFull(c, message)
		}
		if network == "tcp" {
			_ = c.Close()
		}
	}
	for range 2 { // two connections at a time fill the queue
		for name, addr := range at {
			network := "tcp"
			if name == "dns" {
				network = "udp"
			}
			all.Go(func() {
				for ctx.Err() == nil {
					use(network, addr)
					select {
					case <-ctx.Done():
					case <-time.After(50 * time.Millisecond):
					}
				}
			})
		}
	}
}

// The real Prometheus has an answer to every query of the dashboards, and evaluates the rules, for a daemon under load.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	need(t, "prometheus", "prometheus")
	d, at := startMonitored(t)
	s, other := newSecured(t), startProxy(t, "epoll", []string{testenv.Vacant(t)})
	s.start()
	p := startPrometheus(t, scrapeConfig(t, d, other, s))
	useAll(t, at)
	d.signal(syscall.SIGHUP)
	d.await("reloaded")

	exprs, text := map[string]string{}, strings.Builder{}
	for _, file := range []string{"fleet.json", "instance.json"} {
		content, err := os.ReadFile("../deploy/grafana/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var board dashboard
		if err := json.Unmarshal(content, &board); err != nil {
			t.Fatal(err)
		}
		for name, expr := range board.queries(file, d.metrics) {
			exprs[name] = expr
			text.WriteString(expr + "\n")
		}
		for _, a := range board.Annotations.List {
			text.WriteString(a.Expr + "\n")
		}
	}
	if len(exprs) < 80 {
		t.Fatalf("%d queries", len(exprs))
	}
	for _, file := range []string{"rules.yml", "alerts.yml"} {
		for _, r := range readRules(t, "../deploy/prometheus/"+file) {
			text.WriteString(r.Expr + "\n")
			if r.Record != "" {
				exprs["rule "+r.Record] = r.Record
			}
			for _, s := range selector.FindAllString(r.Expr, -1) {
				if !strings.Contains(s, "epoll") { // there is io_uring
					exprs[r.Alert+r.Record+": "+s] = s
				}
			}
		}
	}
	for _, alert := range []string{ // the faults of the load
		"ReactordListenerNearLimit", "ReactordRejecting", "ReactordConnectFailureRatio", "ReactordRetriesHigh",
		"ReactordServerDown", "ReactordCertExpiryImminent", "ReactordConfigDiffers",
	} {
		exprs["alert "+alert] = fmt.Sprintf("ALERTS{alertname=%q}", alert)
	}
	exprs["the daemons"] = `sum(up{job="reactord"}) == 3`
	checkNames(t, d, text.String())
	p.awaitValues(exprs)
	checkAlerts(t, p)
}

// selector is a selector with matchers.
var selector = regexp.MustCompile(`\b(?:up|(?:reactord|process)_\w+)\{[^}]*\}`)

// checkNames checks that the daemon has all series that expressions name.
func checkNames(t *testing.T, d *daemon, exprs string) {
	t.Helper()
	_, page := d.get("/metrics")
	exprs = regexp.MustCompile(`\w+:\w+:\w+`).ReplaceAllString(exprs, "") // what rules record
	names := regexp.MustCompile(`\b(?:reactord|process|go)_\w+`).FindAllString(exprs, -1)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !strings.Contains(page, "\n"+name+"{") && !strings.Contains(page, "\n"+name+" ") {
			t.Errorf("the daemon has no series %s", name)
		}
	}
}

// checkAlerts checks that no rule has an error, and that what is well is no alert.
func checkAlerts(t *testing.T, p *prometheus) {
	t.Helper()
	states, errs := p.alertRules()
	for _, err := range errs {
		t.Error(err)
	}
	for _, alert := range []string{
		"ReactordDown", "ReactordAbsent", "ReactordBackendDown", "ReactordReloadFailed", "ReactordAcceptErrors",
		"ReactordOperationsLeaked", "ReactordInternalError", "ReactordDiscoveryStale",
	} {
		if states[alert] != "inactive" {
			t.Errorf("%s is %q", alert, states[alert])
		}
	}
}
