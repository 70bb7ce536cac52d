package dropin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// process is one that notes what it is asked.
type process struct {
	state State
	asked []string
	err   error
}

func (p *process) State() State { return p.state }
func (p *process) Info() Info {
	return Info{Version: "reactord 1", Uptime: 90 * time.Second, Node: "n", Options: map[string]any{"concurrency": 2}}
}

func (p *process) Stats() []Stat {
	return []Stat{
		{"listener.0.0.0.0_443.downstream_cx_active", 7}, {"listener_manager.workers_started", 1}, {"server.state", 0},
	}
}
func (p *process) note(what, who string) error { p.asked = append(p.asked, what+" "+who); return p.err }
func (p *process) Withdraw(who string) error   { return p.note("withdraw", who) }
func (p *process) Restore(who string) error    { return p.note("restore", who) }
func (p *process) Drain(who string) error      { return p.note("drain", who) }

var metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "metric 1\n") })

func TestAdmin(t *testing.T) {
	for _, c := range []struct {
		method, path string
		state        State
		status       int
		body         string // it has this
		asked        string
	}{
		{"GET", "/ready", Live, 200, "LIVE\n", ""},
		{"GET", "/ready", Draining, 503, "DRAINING\n", ""},
		{"GET", "/ready", PreInitializing, 503, "PRE_INITIALIZING\n", ""},
		{"POST", "/ready", Live, 405, "use GET", ""},
		{"GET", "/stats/prometheus", Live, 200, "metric 1", ""},
		{"GET", "/stats?format=prometheus", Live, 200, "metric 1", ""},
		{"GET", "/stats", Live, 200, "listener.0.0.0.0_443.downstream_cx_active: 7\nlistener_manager", ""},
		// What Envoy Gateway's shutdown manager asks, with two slashes.
		{"GET", `//stats?filter=^listener\..*\.downstream_cx_active$&format=json`, Live, 200,
			`{"stats":[{"name":"listener.0.0.0.0_443.downstream_cx_active","value":7}]}`, ""},
		// What pilot-agent asks.
		{"GET", `/stats?usedonly&filter=^(server\.state|listener_manager\.workers_started)`, Live, 200,
			"listener_manager.workers_started: 1\nserver.state: 0\n", ""},
		{"GET", "/stats?filter=nothing&format=json", Live, 200, `{"stats":[]}`, ""},
		{"GET", "/stats?filter=(", Live, 400, "Invalid regex", ""},
		{"GET", "/stats?format=html", Live, 400, "usage", ""},
		{"POST", "/healthcheck/fail", Live, 200, "OK", "withdraw Envoy's admin API: /healthcheck/fail"},
		{"POST", "/healthcheck/ok", Live, 200, "OK", "restore Envoy's admin API: /healthcheck/ok"},
		{"GET", "/healthcheck/fail", Live, 405, "use POST", ""},
		{"POST", "/drain_listeners?graceful&skip_exit", Live, 200, "OK", "withdraw Envoy's admin API: /drain_listeners"},
		{"POST", "/drain_listeners?graceful", Live, 200, "OK", "drain Envoy's admin API: /drain_listeners"},
		{"POST", "/drain_listeners?inboundonly", Live, 200, "OK", "drain Envoy's admin API: /drain_listeners"},
		{"POST", "/drain_listeners?skip_exit", Live, 400, "requires graceful", ""},
		{"POST", "/quitquitquit", Live, 200, "OK", "drain Envoy's admin API: /quitquitquit"},
		{"GET", "/config_dump", Live, 404, "does not have /config_dump", ""},
		{"GET", "/", Live, 200, "POST /healthcheck/fail", ""},
	} {
		p := &process{state: c.state}
		answer := ask(t, Handler(p, metrics), c.method, c.path)
		if answer.status != c.status || !strings.Contains(answer.body, c.body) || strings.Join(p.asked, "|") != c.asked {
			t.Errorf("%s %s: %d %q, asked %q", c.method, c.path, answer.status, answer.body, p.asked)
		}
	}
}

type answer struct {
	status int
	body   string
}

// ask asks a handler over TCP, as a client does.
func ask(t *testing.T, h http.Handler, method, path string, headers ...string) answer {
	t.Helper()
	l := NewListeners(h, zap.NewNop())
	defer l.Close()
	l.Set([]Listener{{Name: "admin", Network: "tcp", Address: "127.0.0.1:0"}})
	return get(t, method, "http://"+l.Addrs()[0].String()+path, headers...)
}

func get(t *testing.T, method, url string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, strings.ReplaceAll(url, `\`, "%5C"), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	response, err := client.Do(r)
	if err != nil {
		return answer{}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, string(body)}
}

func TestBrowsersFromOtherSitesChangeNothing(t *testing.T) {
	p := &process{state: Live}
	if a := ask(t, Handler(p, metrics), "POST", "/quitquitquit", "Sec-Fetch-Site", "cross-site"); a.status != 403 ||
		p.asked != nil {
		t.Errorf("%+v, asked %q", a, p.asked)
	}
}

// A site whose name was given the address of this process changes nothing, and reads nothing on loopback.
func TestReboundNamesAreRefused(t *testing.T) {
	for _, c := range []struct {
		method, path, host string
		status             int
	}{
		{"POST", "/quitquitquit", "rebound.example:7900", 403},
		{"GET", "/stats", "rebound.example:7900", 403},
		{"GET", "/ready", "rebound.example", 403},
		{"POST", "/healthcheck/fail", "localhost:7900", 200},
		{"POST", "/healthcheck/fail", "127.0.0.1", 200},
		{"GET", "/ready", "[::1]:7900", 200},
		{"GET", "/ready", "[::1]", 200},
	} {
		p := &process{state: Live}
		a := ask(t, Handler(p, metrics), c.method, c.path, "Host", c.host, "Sec-Fetch-Site", "same-origin")
		if a.status != c.status || (p.asked != nil) != (c.method == "POST" && c.status == 200) {
			t.Errorf("%s %s of %s: %+v, asked %q", c.method, c.path, c.host, a, p.asked)
		}
	}
	for method, want := range map[string]bool{"GET": true, "POST": false} { // where other machines reach it
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey,
			&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7900}), method, "http://envoy.example/ready", http.NoBody)
		if trustsHost(r) != want {
			t.Errorf("%s by name is trusted: %t", method, !want)
		}
	}
}

func TestRefusedChange(t *testing.T) {
	p := &process{state: Draining, err: errors.New("it drains already")}
	if a := ask(t, Handler(p, metrics), "POST", "/healthcheck/ok"); a.status != 409 || a.body != "it drains already\n" {
		t.Errorf("%+v", a)
	}
}

func TestServerInfo(t *testing.T) {
	a := ask(t, Handler(&process{state: Live}, metrics), "GET", "/server_info")
	var info struct {
		Version string
		State   string
		Uptime  string         `json:"uptime_current_epoch"`
		Options map[string]any `json:"command_line_options"`
		Node    struct{ ID string }
	}
	if err := json.Unmarshal([]byte(a.body), &info); err != nil {
		t.Fatal(err)
	}
	if info.Version != "reactord 1" || info.State != "LIVE" || info.Uptime != "90s" || info.Node.ID != "n" ||
		info.Options["concurrency"] != 2.0 {
		t.Errorf("%+v", info)
	}
}

// free is an address that is free.
func free(t *testing.T) (string, net.Listener) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l.Addr().String(), l
}

func TestListenersComeAndGo(t *testing.T) {
	one, held := free(t)
	held.Close()
	two, held := free(t) // another process has it
	p := &process{state: Live}
	l := NewListeners(Handler(p, metrics), zap.NewNop())
	defer l.Close()
	ready, scrape := map[string]string{"/ready": "/ready"}, map[string]string{"/metrics": "/stats/prometheus"}
	l.Set([]Listener{
		{"ready", "tcp", one, ready}, {"metrics", "tcp", one, scrape}, {"taken", "tcp", two, ready},
	})
	for path, want := range map[string]answer{
		"/ready": {200, "LIVE\n"}, "/metrics": {200, "metric 1\n"}, "/stats": {404, "Not Found\n"},
	} {
		if got := get(t, "GET", "http://"+one+path); got != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := l.Failures(); len(got) != 1 || got[two] == "" {
		t.Errorf("failures %v", got)
	}
	l.Set([]Listener{{"metrics", "tcp", one, scrape}, {"taken", "tcp", two, ready}})
	if got := get(t, "GET", "http://"+one+"/ready"); got.status != 404 {
		t.Errorf("what is gone: %+v", got)
	}
	held.Close() // it is tried again
	eventually(t, func() bool { return get(t, "GET", "http://"+two+"/ready").status == 200 })
	l.Set(nil)
	again, err := net.Listen("tcp", two)
	if err != nil {
		t.Fatal(err) // it was free when Set had returned
	}
	again.Close()
	if got := get(t, "GET", "http://"+one+"/metrics"); got.status != 0 {
		t.Errorf("none is wanted: %+v", got)
	}
}

func eventually(t *testing.T, what func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !what(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it has not happened in time")
		}
	}
}

// A socket that a process has left behind is replaced.
// Idle clients of any address make room for a new one.
func TestIdleClientsMakeRoom(t *testing.T) {
	l := NewListeners(Handler(&process{state: Live}, metrics), zap.NewNop())
	defer l.Close()
	l.Set([]Listener{
		{Name: "admin", Network: "tcp", Address: "127.0.0.1:0"},
		{Name: "ready", Network: "tcp4", Address: "127.0.0.1:0", Paths: map[string]string{"/healthz/ready": "/ready"}},
	})
	for i := range 2 * maxClients {
		c, err := net.DialTimeout("tcp", l.Addrs()[i%2].String(), patience)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	answered := get(t, "GET", "http://"+l.Addr("ready").String()+"/healthz/ready")
	if answered.status != http.StatusOK {
		t.Errorf("the probe has got %d", answered.status)
	}
	eventually(t, func() bool { return l.Connections() <= maxClients })
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "admin.sock")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	l := NewListeners(Handler(&process{state: Live}, metrics), zap.NewNop())
	l.Set([]Listener{{Name: "admin", Network: "unix", Address: path}})
	client := &http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		},
	}}
	r, err := client.Get("http://localhost/ready")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != 200 {
		t.Errorf("status %d", r.StatusCode)
	}
	l.Close()
	if left, _ := filepath.Glob(path); left != nil {
		t.Errorf("%s is left", left)
	}
}
