package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin/admintest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
)

// served is the API of a daemon, on a unix socket or on TCP, with a client.
type served struct {
	*admin.API
	t      *testing.T
	level  zap.AtomicLevel
	client *admin.Client
	http   http.Client
}

func serve(t *testing.T, d admin.Daemon, address string) *served {
	t.Helper()
	return serveWith(t, d, address, nil)
}

func serveWith(t *testing.T, d admin.Daemon, address string, slow *admin.SlowTurns) *served {
	t.Helper()
	a, err := admin.ListenAPI(config.Admin{Address: address, Mode: 0o600}, zaptest.NewLogger(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &served{API: a, t: t, level: zap.NewAtomicLevel()}
	a.Serve(d, s.level, slow)
	if s.client, err = admin.NewClient(admin.Access{Address: a.Address()}); err != nil {
		t.Fatal(err)
	}
	network, at, err := admin.ParseAddress(a.Address())
	if err != nil {
		t.Fatal(err)
	}
	s.http.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, at)
	}}
	t.Cleanup(func() {
		s.client.Close()
		s.http.CloseIdleConnections()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func onSocket(t *testing.T) string { return "unix://" + filepath.Join(t.TempDir(), "admin.sock") }

// do makes a request, checks what all answers have in common, and compares the answer with its schema.
func (s *served) do(method, path, body string, header ...string) (code int, h http.Header, text string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	answer, err := s.http.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.check(method, path, answer, all)
	return answer.StatusCode, answer.Header, string(all)
}

// check compares an answer with the OpenAPI document.
func (s *served) check(method, path string, answer *http.Response, body []byte) {
	s.t.Helper()
	if got := answer.Header.Get("Cache-Control"); got != "no-store" {
		s.t.Errorf("%s %s: Cache-Control: %q", method, path, got)
	}
	kind := answer.Header.Get("Content-Type")
	if answer.StatusCode >= 400 && kind != "application/problem+json" {
		s.t.Errorf("%s %s: %d with %s", method, path, answer.StatusCode, kind)
	}
	if method == http.MethodHead || !strings.HasSuffix(kind, "json") {
		return
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		s.t.Fatalf("%s %s: %v: %s", method, path, err, body)
	}
	if kind == "application/problem+json" {
		if err := document.validate(document.schema("Problem"), value); err != nil {
			s.t.Errorf("%s %s: %v", method, path, err)
		}
		return
	}
	schema := document.answer(method, path, answer.StatusCode)
	if schema == nil {
		s.t.Fatalf("%s %s: %d is not in the document", method, path, answer.StatusCode)
	}
	if err := document.validate(schema, value); err != nil {
		s.t.Errorf("%s %s: %v: %.500s", method, path, err, body)
	}
}

// requests are made one after the other.
var requests = []struct {
	method, path, body string
	code               int
	want               string // a part of the answer
}{
	{"GET", "/v1/status", "", 200, `"phase":"serving"`},
	{"HEAD", "/v1/status", "", 200, ""},
	{"GET", "/v1/plan", "", 200, `"settings":{"retries":3}`},
	{"GET", "/v1/listeners", "", 200, `"address":"0.0.0.0:80"`},
	{"GET", "/v1/backends", "", 200, `"policy":"p2c"`},
	{"GET", "/v1/servers", "", 200, `"name":"b"`},
	{"GET", "/v1/servers?backend=none", "", 404, `backend \"none\"`},
	{"GET", "/v1/backends/app/servers/a", "", 200, `"weight":10`},
	{"GET", "/v1/backends/app/servers/192.0.2.2:80", "", 200, `"name":"b"`},
	{"GET", "/v1/backends/app/servers/c", "", 404, `server \"c\" of backend app`},
	{"PATCH", "/v1/backends/app/servers/a", `{"state":"drain"}`, 200, `"admin_state":"drain"`},
	{"PATCH", "/v1/backends/app/servers/a", `{"weight":0, "state":"up"}`, 200, `"weight":0`},
	{"PATCH", "/v1/backends/app/servers/a", `{}`, 400, "changes nothing"},
	{"PATCH", "/v1/backends/app/servers/a", `{"weight":1001}`, 400, "weight 1001; it is a whole number from 0 to 1000"},
	{"PATCH", "/v1/backends/app/servers/a", `{"weight":"1"}`, 400, "from 0 to 1000"},
	{"PATCH", "/v1/backends/app/servers/a", `{"weight":null}`, 400, "from 0 to 1000"},
	{"PATCH", "/v1/backends/app/servers/a", `{"state":"off"}`, 400, "one of up, drain, maintenance"},
	{"PATCH", "/v1/backends/app/servers/a", `{"State":"up"}`, 400, `unknown field \"State\": it may have state and weight and max_connections`},
	{"PATCH", "/v1/backends/app/servers/a", `{"state":"up","state":"up"}`, 400, "repeats the field"},
	{"PATCH", "/v1/backends/app/servers/a", `{"state":"up"} x`, 400, "after the object"},
	{"PATCH", "/v1/backends/app/servers/a", `{"state":"up"`, 400, "not JSON"},
	{"PATCH", "/v1/backends/app/servers/a", `[]`, 400, "JSON object with state and weight and"},
	{"PATCH", "/v1/backends/app/servers/c", `{"weight":1}`, 404, "not found"},
	{"DELETE", "/v1/backends/app/servers/a/override", "", 200, `"overridden":false`},
	{"PATCH", "/v1/backends/app/servers/a", `{"health":"up","for":"10m","max_connections":9}`, 200, `"health":"up"`},
	{"PATCH", "/v1/backends/app/servers/a", `{"for":"10m"}`, 400, "for requires health up or down"},
	{"PATCH", "/v1/backends/app/servers/a", `{"health":"auto","for":"10m"}`, 400, "for requires health up or down"},
	{"PATCH", "/v1/backends/app/servers/a", `{"health":"up","for":"-1m"}`, 400, "write a duration such as 10m"},
	{"PATCH", "/v1/backends/app/servers/a", `{"health":"well"}`, 400, "one of auto, up, down"},
	{"POST", "/v1/backends/app/servers", `{"address":"192.0.2.3:80","name":"c","weight":0}`, 201, `"origin":"by hand"`},
	{"POST", "/v1/backends/app/servers", `{"address":"192.0.2.3:80"}`, 409, "192.0.2.3:80 already"},
	{"POST", "/v1/backends/app/servers", `{}`, 400, "no address"},
	{"POST", "/v1/backends/none/servers", `{"address":"192.0.2.3:80"}`, 404, "backend"},
	{"POST", "/v1/overrides/drains", `{"locality":"eu-1a","backend":"app"}`, 200, `"locality":"eu-1a"`},
	{"GET", "/v1/overrides", "", 200, `"added":true`},
	{"DELETE", "/v1/overrides/drains?locality=eu-1a", "", 404, "drain"},
	{"DELETE", "/v1/overrides/drains?locality=eu-1a&backend=app", "", 200, `"drains":[]`},
	{"DELETE", "/v1/backends/app/servers/c", "", 200, "{}"},
	{"DELETE", "/v1/backends/app/servers/c", "", 404, "not found"},
	{"DELETE", "/v1/overrides", "", 400, "give backend, or all=true"},
	{"DELETE", "/v1/overrides?all=true&backend=app", "", 400, "give backend, or all=true"},
	{"DELETE", "/v1/overrides?all=true", "", 200, `{"cleared":1}`},
	{"DELETE", "/v1/backends/app/servers/a/override", "", 200, `"health":"auto"`},
	{"GET", "/v1/connections", "", 200, `"id":"3"`},
	{"GET", "/v1/connections?server=b&limit=1", "", 200, `"id":"2"`},
	{"GET", "/v1/connections?client=10.0.0.2", "", 200, `"id":"3"`},
	{"GET", "/v1/connections?client=x", "", 400, "the parameter client must be an address or a prefix"},
	{"GET", "/v1/connections?limit=0", "", 400, "from 1 to 10000"},
	{"GET", "/v1/connections?min_age=-1s", "", 400, "a duration such as"},
	{"GET", "/v1/connections?listner=a", "", 400, `the parameter \"listner\" is unknown: this path has after, backend,`},
	{"GET", "/v1/connections?server=a&server=b", "", 400, "given 2 times"},
	{"GET", "/v1/connections?%zz", "", 400, "cannot parse"},
	{"GET", "/v1/connections?after=x", "", 404, "page"},
	{"GET", "/v1/sources", "", 200, `"source":"192.0.2.7/32","listener":"web","connections":50,"limit":50`},
	{"GET", "/v1/sources?listener=none&sort=bytes&limit=1", "", 200, `{"sources":[],"total":0}`},
	{"GET", "/v1/sources?sort=age", "", 400, "one of connections, accepted, bytes, rejected"},
	{"GET", "/v1/status?x=1", "", 400, "this path has none"},
	{"DELETE", "/v1/connections", "", 400, "say which"},
	{"DELETE", "/v1/connections?all=true&server=a", "", 400, "say which"},
	{"DELETE", "/v1/connections?server=a", "", 200, `{"closed":2}`},
	{"DELETE", "/v1/connections/2", "", 200, `{"closed":1}`},
	{"DELETE", "/v1/connections/2", "", 404, "not found"},
	{"DELETE", "/v1/connections?all=true", "", 200, `{"closed":1}`},
	{"GET", "/v1/connections", "", 200, `"connections":[]`},
	{"POST", "/v1/reload", "", 200, `"changes":["listener web`},
	{"POST", "/v1/reload", "{}", 400, "takes no body"},
	{"GET", "/v1/status", "", 200, `"last_reload":{"at"`},
	{"GET", "/v1/drain", "", 200, `"phase":"serving"`},
	{"POST", "/v1/drain", "", 202, `"phase":"draining"`},
	{"GET", "/v1/drain", "", 200, `"left_seconds":28`},
	{"POST", "/v1/upgrade", "", 200, `{"pid":4711}`},
	{"GET", "/v1/log-level", "", 200, `{"level":"info"}`},
	{"PUT", "/v1/log-level", `{"level":"debug"}`, 200, `{"level":"debug"}`},
	{"PUT", "/v1/log-level", `{"level":"fatal"}`, 400, "one of debug, info, warn, error"},
	{"PUT", "/v1/log-level", `{}`, 400, "no level, which is one of"},
	{"GET", "/v1/loops", "", 200, `{"loops":[],"slow_turns":[]}`},
	{"GET", "/v1/loops/in-flight", "", 200, ""},
	{"GET", "/v1/profiles", "", 200, `"name":"heap"`},
	{"POST", "/v1/profiles/goroutine?debug=1", "", 200, "goroutine profile:"},
	{"GET", "/v1/profiles/cpu", "", 405, "use POST"},
	{"POST", "/v1/profiles/none", "", 404, "profile"},
	{"POST", "/v1/profiles/cpu?seconds=301", "", 400, "at most 300"},
	{"POST", "/v1/profiles/cpu?seconds=10ms", "", 200, ""},
	{"POST", "/v1/profiles/trace?seconds=10ms", "", 200, ""},
	{"GET", "/v1/discovery", "", 200, `"last_error":"no answer"`},
	{"GET", "/v1/openapi.json", "", 200, `"openapi": "3.1.0"`},
	{"GET", "/v1/nothing", "", 404, "/v1/openapi.json lists all"},
	{"GET", "/nothing", "", 404, "no path"},
	{"GET", "/page/index.html", "", 404, "no path"},
	{"POST", "/", "", 404, "no path"},
	{"GET", "/v1/snapshot", "", 200, `"connect_time":`},
	{"GET", "/v1/snapshot?after=1", "", 200, `"events":[{"number":2,`},
	{"GET", "/v1/snapshot?after=2", "", 200, `"events":[]`},
	{"GET", "/v1/snapshot?after=x", "", 400, "a whole number"},
	{"PUT", "/v1/status", "", 405, "use GET, HEAD"},
}

// TestRequests makes requests on both kinds of address.
func TestRequests(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			address := "tcp://127.0.0.1:0"
			if network == "unix" {
				address = onSocket(t)
			}
			s := serve(t, admintest.New(4), address)
			for _, test := range requests {
				code, _, text := s.do(test.method, test.path, test.body)
				if code != test.code || !strings.Contains(text, test.want) {
					t.Errorf("%s %s %s: %d %s, want %d %s", test.method, test.path, test.body, code, text, test.code, test.want)
				}
			}
		})
	}
}

// TestMethods tries every method on every path: what is not in the document is 405 with the methods that are.
func TestMethods(t *testing.T) {
	s := serve(t, admintest.New(0), onSocket(t))
	for path, methods := range document.paths() {
		path = strings.NewReplacer("{backend}", "app", "{server}", "a", "{id}", "1", "{name}", "heap").Replace(path)
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
			if methods[method] {
				continue
			}
			code, h, text := s.do(method, path, "")
			allow := map[string]bool{}
			for m := range strings.SplitSeq(h.Get("Allow"), ", ") {
				allow[m] = true
			}
			if code != 405 || !strings.Contains(text, "use "+h.Get("Allow")) {
				t.Errorf("%s %s: %d %s", method, path, code, text)
			}
			for m := range methods {
				if !allow[m] {
					t.Errorf("%s %s: Allow: %s, without %s", method, path, h.Get("Allow"), m)
				}
			}
		}
	}
}

func TestBodies(t *testing.T) {
	s := serve(t, admintest.New(0), onSocket(t))
	const path = "/v1/log-level"
	for _, test := range []struct {
		name, body, contentType string
		code                    int
	}{
		{"with a character set", `{"level":"warn"}`, "application/json; charset=utf-8", 200},
		{"a form", "level=warn", "application/x-www-form-urlencoded", 415},
		{"text, which a page of another site can send", `{"level":"warn"}`, "text/plain", 415},
		{"too large", `{"level":"` + strings.Repeat("x", 1<<17) + `"}`, "application/json", 413},
	} {
		if code, _, text := s.do("PUT", path, test.body, "Content-Type", test.contentType); code != test.code {
			t.Errorf("%s: %d %s", test.name, code, text)
		}
	}
}

// TestPagesOfBrowsers makes requests as a page of another site does, and as one whose name was given a loopback
// address.
func TestPagesOfBrowsers(t *testing.T) {
	d := admintest.New(1)
	s := serve(t, d, "tcp://127.0.0.1:0")
	for _, header := range [][]string{
		{"Sec-Fetch-Site", "cross-site"},
		{"Origin", "http://site.test"},
		{"Host", "site.test"},
		{"Host", "site.test:80"},
	} {
		if code, _, text := s.do("POST", "/v1/drain", "", header...); code != 403 {
			t.Errorf("%v: %d %s", header, code, text)
		}
	}
	if code, _, text := s.do("GET", "/v1/status", "", "Host", "site.test"); code != 403 {
		t.Errorf("read by a page: %d %s", code, text)
	}
	for _, host := range []string{"localhost:1", "127.0.0.1:1", "[::1]:1", "localhost"} {
		if code, _, text := s.do("GET", "/v1/status", "", "Host", host); code != 200 || !strings.Contains(text, `"serving"`) {
			t.Errorf("%s: %d %s", host, code, text)
		}
	}
}

// TestPagesOnSockets has a unix socket that a browser reaches through ssh: names of sites have a dot.
func TestPagesOnSockets(t *testing.T) {
	s := serve(t, admintest.New(1), onSocket(t))
	for host, want := range map[string]int{
		"site.test": 403, "site.test:80": 403, "10.0.0.1": 403,
		"localhost:8080": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "unix": 200, "any-name": 200,
	} {
		if code, _, text := s.do("GET", "/v1/status", "", "Host", host); code != want {
			t.Errorf("%s: %d %s", host, code, text)
		}
	}
}

// TestReloadErrors has the places of what is wrong.
func TestReloadErrors(t *testing.T) {
	d := admintest.New(0)
	d.Err = fmt.Errorf("loading: %w", admintest.Refused)
	s := serve(t, d, onSocket(t))
	code, _, text := s.do("POST", "/v1/reload", "")
	const want = `"errors":[{"file":"proxy.yaml","line":3,"column":5,"text":"\"bakend\"`
	if code != 422 || !strings.Contains(text, want) {
		t.Errorf("%d %s", code, text)
	}
	_, _, err := admin.PostReload.Call(t.Context(), s.client, admin.None{})
	if err == nil || err.Error() != admintest.Refused.Error() {
		t.Errorf("the client says %v", err)
	}
	if _, _, text := s.do("GET", "/v1/status", ""); !strings.Contains(text, `"ok":false`) {
		t.Errorf("status: %s", text)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
	}{
		{fmt.Errorf("%w: an upgrade is under way", admin.ErrConflict), 409},
		{admin.ErrUnsupported, 501},
		{errors.New("the new process has exited: status 1"), 422},
	} {
		d := admintest.New(0)
		d.Err = test.err
		s := serve(t, d, onSocket(t))
		code, _, text := s.do("POST", "/v1/upgrade", "")
		var p admin.Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil || code != test.code || p.Status != code ||
			p.Detail != test.err.Error() || p.Title != http.StatusText(code) {
			t.Errorf("%v: %d %s", test.err, code, text)
		}
	}
}

// TestPages reads 50 000 connections in pages, while some of them end.
func TestPages(t *testing.T) {
	const n = 50000
	d := admintest.New(n)
	s := serve(t, d, onSocket(t))
	seen := map[string]bool{}
	q := admin.ConnectionQuery{Limit: 5000}
	start := time.Now()
	for pages := 0; ; pages++ {
		page, _, err := admin.ListConnections.Call(t.Context(), s.client, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Connections {
			if seen[c.ID] {
				t.Fatalf("connection %s twice", c.ID)
			}
			seen[c.ID] = true
		}
		if pages == 3 {
			if err := d.CloseConnection(t.Context(), page.Next); err != nil { // where the next page begins
				t.Fatal(err)
			}
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if len(seen) != n {
		t.Errorf("%d connections in pages, want %d", len(seen), n)
	}
	t.Logf("%d connections in %v", n, time.Since(start).Round(time.Millisecond))
}

// TestConcurrency has clients of all kinds together.
func TestConcurrency(t *testing.T) {
	s := serve(t, admintest.New(100), onSocket(t))
	var clients sync.WaitGroup
	for i := range 16 {
		clients.Go(func() {
			c, err := admin.NewClient(admin.Access{Address: s.Address()})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for j := range 20 {
				weight := 20*i + j
				u := admin.ServerUpdate{ServerKey: admin.ServerKey{Backend: "app", Server: "a"},
					Body: admin.ServerChange{Weight: &weight}}
				_, _, err := admin.SetServer.Call(t.Context(), c, u)
				_, _, err2 := admin.GetStatus.Call(t.Context(), c, admin.None{})
				_, _, err3 := admin.ListConnections.Call(t.Context(), c, admin.ConnectionQuery{})
				_, _, err4 := admin.SetLogLevel.Call(t.Context(), c, admin.LogLevelUpdate{Body: admin.LogLevel{Level: "warn"}})
				if err := errors.Join(err, err2, err3, err4); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
}

// TestClientInputs sends every parameter and reads it back.
func TestClientInputs(t *testing.T) {
	s := serve(t, admintest.New(20), onSocket(t))
	page, text, err := admin.ListConnections.Call(t.Context(), s.client, admin.ConnectionQuery{Filter: admin.Filter{
		Listener: "web", Backend: "app", Server: "192.0.2.1:80", Client: prefix(t, "10.0.0.8/29"),
		MinAge: 9 * time.Second, MinIdle: 200 * time.Millisecond,
	}, Limit: 2})
	if err != nil || len(page.Connections) != 2 || page.Connections[0].ID != "11" || page.Next != "13" {
		t.Errorf("%+v, %v", page, err)
	}
	var same admin.Connections
	if err := json.Unmarshal(text, &same); err != nil || len(same.Connections) != 2 {
		t.Errorf("the text: %s, %v", text, err)
	}
	_, _, err = admin.GetServer.Call(t.Context(), s.client, admin.ServerKey{Backend: "a/b", Server: "../x y?"})
	p, ok := errors.AsType[*admin.Problem](err)
	if !ok || p.Status != 404 || !strings.Contains(p.Detail, `"a/b"`) {
		t.Errorf("a name with odd characters: %v", err)
	}
}

// TestOtherServer calls something that is not reactord.
func TestOtherServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/plan" {
			w.WriteHeader(http.StatusTeapot)
		}
		io.WriteString(w, "hello")
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = other.Serve(l) }()
	defer func() { other.Close(); <-done }()
	c, err := admin.NewClient(admin.Access{Address: "tcp://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, _, err := admin.GetStatus.Call(t.Context(), c, admin.None{}); err == nil ||
		!strings.Contains(err.Error(), "is not an admin API") {
		t.Errorf("got %v", err)
	}
	if _, _, err := admin.GetPlan.Call(t.Context(), c, admin.None{}); err == nil || !strings.Contains(err.Error(), "418") {
		t.Errorf("got %v", err)
	}
}

func conflicts(err error) bool {
	p, ok := errors.AsType[*admin.Problem](err)
	return ok && p.Status == http.StatusConflict
}

// TestCloseEndsProfile closes the server while a profile is recorded.
func TestCloseEndsProfile(t *testing.T) {
	a, err := admin.ListenAPI(config.Admin{Address: onSocket(t), Mode: 0o600}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	a.Serve(admintest.New(0), zap.NewAtomicLevel(), nil)
	c, err := admin.NewClient(admin.Access{Address: a.Address()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	done := make(chan error)
	go func() {
		for {
			_, _, err := admin.PostProfile.Call(t.Context(), c, admin.ProfileQuery{Name: "cpu", Length: 5 * time.Minute})
			if !conflicts(err) { // with the attempts below
				done <- err
				return
			}
		}
	}()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		_, _, err := admin.PostProfile.Call(t.Context(), c, admin.ProfileQuery{Name: "cpu", Length: time.Millisecond})
		if conflicts(err) {
			break // it is being recorded
		}
		if time.Now().After(deadline) {
			t.Fatal("no conflict: ", err)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("no error of a profile that was aborted")
	}
}

func prefix(t *testing.T, text string) netip.Prefix {
	t.Helper()
	p, err := admin.ParsePrefix(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
