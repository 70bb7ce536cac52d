package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// administered is a daemon with an admin API.
type administered struct {
	*daemon
	file   string // its configuration
	socket string
}

const administeredConfig = `ring: %s
loops: 2
metrics: "127.0.0.1:0"
admin: {address: "unix://%s", mode: "0640"}
drain: {timeout: 1m}
listeners:
  - {name: web, address: "tcp://127.0.0.1:0", backend: app}
backends:
  - name: app
    servers:
      - {name: one, address: "tcp://%s"}
      - {name: two, address: "tcp://%s"}
`

func administer(t *testing.T, ring, one, two string) *administered {
	t.Helper()
	dir := t.TempDir()
	a := &administered{file: filepath.Join(dir, "reactord.yaml"), socket: filepath.Join(dir, "admin.sock")}
	a.write(t, fmt.Sprintf(administeredConfig, ring, a.socket, one, two))
	a.start(t)
	return a
}

func (a *administered) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(a.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (a *administered) start(t *testing.T) {
	t.Helper()
	a.daemon = spawn(t, nil, nil, "serve", "--config", a.file)
	a.addr = a.await("listening").str("address")
	a.metrics = a.await("metrics").str("address")
	a.await("admin")
}

// ctl runs reactord ctl, which must succeed.
func (a *administered) ctl(args ...string) string {
	a.t.Helper()
	r := a.tryCtl(args...)
	if r.code != 0 || r.stderr != "" {
		a.t.Fatalf("ctl %v: exit code %d, %s%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

func (a *administered) tryCtl(args ...string) result {
	a.t.Helper()
	return run(a.t, append([]string{"ctl", "--address", "unix://" + a.socket}, args...)...)
}

// read reads an answer of the API into v.
func (a *administered) read(v any, args ...string) {
	a.t.Helper()
	text := a.ctl(append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), v); err != nil {
		a.t.Fatalf("ctl %v: %v: %s", args, err, text)
	}
}

type listed struct {
	ID, Server    string
	ReceivedBytes int `json:"received_bytes"`
	SentBytes     int `json:"sent_bytes"`
}

// connections lists the connections of the daemon.
func (a *administered) connections(args ...string) []listed {
	a.t.Helper()
	var page struct{ Connections []listed }
	a.read(&page, append([]string{"connections"}, args...)...)
	return page.Connections
}

// TestAdminConnections lists connections, and closes some: the others stay.
func TestAdminConnections(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		a := administer(t, ring, serve(t, echo), serve(t, echo))
		var all []peer
		for range 8 {
			c := dial(t, a.addr)
			c.send([]byte("hello"))
			c.expect([]byte("hello"))
			all = append(all, c)
		}
		found := a.connections()
		if len(found) != len(all) || found[0].ReceivedBytes != 5 {
			t.Fatalf("listed %+v", found)
		}
		of := map[string]int{}
		for _, c := range found {
			of[c.Server]++
		}
		if one := a.connections("--server", "one"); len(one) != of["one"] || of["one"]+of["two"] != len(all) {
			t.Errorf("%d of server one, of all %v", len(one), of)
		}
		if none := a.connections("--client", "192.0.2.0/24"); len(none) != 0 {
			t.Errorf("of another client: %+v", none)
		}
		a.ctl("close", found[0].ID)
		if r := a.tryCtl("close", found[0].ID); r.code != 1 || !strings.Contains(r.stderr, "not found") {
			t.Errorf("closed twice: %+v", r)
		}
		eventually(t, "a connection fewer", func() bool { return len(a.connections()) == len(all)-1 })
		gone := 0
		for _, c := range all {
			if !answers(c) {
				gone++
			}
		}
		if gone != 1 {
			t.Errorf("%d connections have ended, want 1", gone)
		}
		if text := a.ctl("close", "--all"); text != fmt.Sprintf("%d connections closed\n", len(all)-1) {
			t.Errorf("said %q", text)
		}
		a.stop()
		if _, err := os.Lstat(a.socket); !os.IsNotExist(err) {
			t.Errorf("the socket is left: %v", err)
		}
	})
}

// answers reports whether a byte comes back.
func answers(p peer) bool {
	_ = p.SetDeadline(time.Now().Add(patience))
	if _, err := p.Write([]byte("x")); err != nil {
		return false
	}
	_, err := io.ReadFull(p, make([]byte, 1))
	return err == nil
}

// TestAdminServers drains a server, and undoes it; a reload leaves the override.
func TestAdminServers(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		a := administer(t, ring, serve(t, echo), serve(t, echo))
		a.ctl("server", "set", "app", "one", "--state", "drain")
		a.ctl("reload")
		for range 8 {
			c := dial(t, a.addr)
			c.send([]byte("x"))
			c.expect([]byte("x"))
		}
		for _, c := range a.connections() {
			if c.Server != "two" {
				t.Errorf("a connection to %s, which drains", c.Server)
			}
		}
		a.ctl("server", "set", "app", "one", "--weight", "7")
		var servers struct {
			Servers []struct {
				Name       string
				AdminState string `json:"admin_state"`
				Weight     int
				Overridden bool
			}
		}
		a.read(&servers, "servers")
		for _, s := range servers.Servers {
			if s.Name == "one" && (s.AdminState != "drain" || s.Weight != 7 || !s.Overridden) {
				t.Errorf("overridden: %+v", s)
			}
		}
		if text := a.ctl("plan"); !strings.Contains(text, "override of "+a.file) {
			t.Errorf("the origin is not in the plan:\n%s", text)
		}
		a.ctl("server", "reset", "app", "one")
		eventually(t, "server one gets connections again", func() bool {
			c := dial(t, a.addr)
			c.send([]byte("x"))
			c.expect([]byte("x"))
			return len(a.connections("--server", "one")) > 0
		})
	})
}

// TestAdminReload reloads a file with errors, which are told with their places, and one without.
func TestAdminReload(t *testing.T) {
	a := administer(t, "auto", serve(t, echo), serve(t, echo))
	good, err := os.ReadFile(a.file)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, strings.ReplaceAll(string(good), "drain:", "drian:"))
	if r := a.tryCtl("reload"); r.code != 1 || !strings.HasPrefix(r.stderr, a.file+":5:1: ") {
		t.Errorf("%+v", r)
	}
	if text := a.ctl("status"); !strings.Contains(text, "refused:") {
		t.Errorf("status:\n%s", text)
	}
	a.write(t, strings.ReplaceAll(string(good), "name: app\n", "name: app\n    retries: 1\n"))
	if text := a.ctl("reload"); text != "backend app: retries 3 → 1\n" {
		t.Errorf("reload: %q", text)
	}
	if text := a.ctl("status", "--json"); !strings.Contains(text, `"changes":["backend app: retries 3 → 1"]`) {
		t.Errorf("status: %s", text)
	}
	a.ctl("log-level", "debug")
	c := dial(t, a.addr)
	c.send([]byte("x"))
	c.expect([]byte("x"))
	a.ctl("close", "--all")
	a.await("closing") // which is logged at the level debug
}

// TestAdminDrain begins a drain, and follows it to its end.
func TestAdminDrain(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		a := administer(t, ring, serve(t, echo), serve(t, echo))
		c := dial(t, a.addr)
		c.send([]byte("x"))
		c.expect([]byte("x"))
		if text := a.ctl("drain"); !strings.HasPrefix(text, "draining for ") || !strings.Contains(text, "1 connections") {
			t.Errorf("drain: %q", text)
		}
		eventually(t, "new connections are refused", func() bool { return refused(a.addr) })
		if text := a.ctl("drain", "--show"); !strings.HasPrefix(text, "draining for ") {
			t.Errorf("progress: %q", text)
		}
		r := a.tryCtl("server", "set", "app", "one", "--weight", "2")
		if r.code != 1 || !strings.Contains(r.stderr, "draining") {
			t.Errorf("a change while draining: %+v", r)
		}
		c.finish()
		c.expectEOF()
		if code := a.wait(patience); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
}

// A drain is undone while its delay lasts, and a process that is only not ready does not end by itself.
func TestAdminDrainUndone(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		a := administer(t, ring, serve(t, echo), serve(t, echo))
		readiness := func(want int, phase string) {
			t.Helper()
			if status, body := a.get("/readyz"); status != want {
				t.Errorf("/readyz: status %d, %q, want %d", status, body, want)
			}
			if text := a.ctl("status"); !strings.Contains(text, phase) {
				t.Errorf("status: %s\nwant %s", text, phase)
			}
			c := dial(t, a.addr)
			c.send([]byte("x"))
			c.expect([]byte("x"))
			c.finish()
			c.expectEOF()
		}
		a.ctl("drain", "--hold")
		readiness(http.StatusServiceUnavailable, "unready")
		a.ctl("reload") // the plan still changes
		if text := a.ctl("drain", "--undo"); !strings.HasPrefix(text, "not draining") {
			t.Errorf("undone: %q", text)
		}
		readiness(http.StatusOK, "serving")

		a.write(t, strings.ReplaceAll(readFile(t, a.file), "drain: {", "drain: {delay: 1h, "))
		a.ctl("reload")
		a.ctl("drain")
		readiness(http.StatusServiceUnavailable, "unready")
		if r := a.tryCtl("drain", "--hold"); r.code != 1 || !strings.Contains(r.stderr, "already draining: undo that first") {
			t.Errorf("held while it drains: %+v", r)
		}
		a.ctl("drain", "--undo")
		readiness(http.StatusOK, "serving")

		a.ctl("drain", "--hold")
		a.write(t, strings.ReplaceAll(readFile(t, a.file), "delay: 1h", "delay: 100ms"))
		a.ctl("reload")
		c := dial(t, a.addr)
		c.send([]byte("x"))
		c.expect([]byte("x"))
		a.ctl("drain")
		eventually(t, "new connections are refused", func() bool { return refused(a.addr) })
		if r := a.tryCtl("drain", "--undo"); r.code != 1 || !strings.Contains(r.stderr, "no more connections are accepted") {
			t.Errorf("undone too late: %+v", r)
		}
		c.finish()
		c.expectEOF()
		if code := a.wait(patience); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
}

// TestAdminSocket has the permissions that the file says, outlives a process that was killed, and is not taken from one
// that is alive.
func TestAdminSocket(t *testing.T) {
	a := administer(t, "auto", serve(t, echo), serve(t, echo))
	if info, err := os.Lstat(a.socket); err != nil || info.Mode() != os.ModeSocket|0o640 {
		t.Errorf("%v, %v", info, err)
	}
	r := run(t, "serve", "--config", a.file)
	if r.code != 1 || !strings.Contains(r.stderr, "another process answers there") {
		t.Errorf("a second process: %+v", r)
	}
	a.signal(syscall.SIGKILL)
	a.wait(patience)
	if r := a.tryCtl("status"); r.code != 1 || !strings.Contains(r.stderr, "no reactord answers at") {
		t.Errorf("after the process was killed: %+v", r)
	}
	a.start(t)
	a.ctl("status")
}

// TestAdminDiscovery shows a source that works, and then fails.
func TestAdminDiscovery(t *testing.T) {
	t.Parallel()
	a := administer(t, "auto", serve(t, echo), serve(t, echo))
	text, err := os.ReadFile(a.file)
	if err != nil {
		t.Fatal(err)
	}
	targets := filepath.Join(t.TempDir(), "targets.json")
	writeFile(t, targets, `[{"targets": ["192.0.2.1:80"]}]`)
	a.write(t, string(text)+"    files: [{path: \""+targets+"\"}]\n")
	a.ctl("reload")
	var found struct {
		Sources []struct {
			Name, Backend string
			Servers       int
			LastError     string `json:"last_error"`
		}
	}
	eventually(t, "the source has found a server", func() bool {
		a.read(&found, "discovery")
		return len(found.Sources) == 1 && found.Sources[0].Servers == 1
	})
	if s := found.Sources[0]; s.Name != "file "+targets || s.Backend != "app" || s.LastError != "" {
		t.Errorf("%+v", s)
	}
	if text := a.ctl("plan"); !strings.Contains(text, "192.0.2.1:80") {
		t.Errorf("the plan:\n%s", text)
	}
	writeFile(t, targets, "[")
	eventually(t, "the source has failed", func() bool {
		a.read(&found, "discovery")
		return found.Sources[0].LastError != "" && found.Sources[0].Servers == 1
	})
}

// TestAdminProfiles reads a profile of each loop's process, and what is in flight.
func TestAdminProfiles(t *testing.T) {
	a := administer(t, "auto", serve(t, echo), serve(t, echo))
	file := filepath.Join(t.TempDir(), "cpu")
	a.ctl("profile", "cpu", "--seconds", "100ms", "--output", file)
	if text, err := os.ReadFile(file); err != nil || len(text) == 0 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if text := a.ctl("loops", "--in-flight"); !strings.Contains(text, "loop 0: ") || !strings.Contains(text, "loop 1: ") {
		t.Errorf("in flight:\n%s", text)
	}
	if text := a.ctl("loops"); strings.Count(text, "\n") != 3 {
		t.Errorf("loops:\n%s", text)
	}
}

// TestAdminManyConnections lists thousands of connections while one of them is used: no byte waits for long.
func TestAdminManyConnections(t *testing.T) {
	const n = 2000
	a := administer(t, "auto", serve(t, echo), serve(t, echo))
	for range n {
		c := dial(t, a.addr)
		c.send([]byte("x"))
		c.expect([]byte("x"))
	}
	used := dial(t, a.addr)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 5 {
			a.readPages(t, n+1)
		}
	}()
	var slowest time.Duration
	for {
		start := time.Now()
		used.send([]byte("x"))
		used.expect([]byte("x"))
		slowest = max(slowest, time.Since(start))
		select {
		case <-done:
			t.Logf("the slowest echo took %v", slowest)
			return
		default:
		}
	}
}

// readPages reads all connections over HTTP, in pages.
func (a *administered) readPages(t *testing.T, want int) {
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", a.socket)
		},
	}}
	defer client.CloseIdleConnections()
	seen := map[string]bool{}
	for after := ""; ; {
		r, err := client.Get("http://localhost/v1/connections?limit=300&after=" + after)
		if err != nil {
			t.Error(err)
			return
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		var page struct {
			Connections []listed
			Next        string
		}
		if err != nil || json.Unmarshal(text, &page) != nil {
			t.Errorf("%v: %.200s", err, text)
			return
		}
		for _, c := range page.Connections {
			seen[c.ID] = true
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if len(seen) != want {
		t.Errorf("%d connections listed, want %d", len(seen), want)
	}
}

// TestAdminExplain explains where a client would land, and why one has landed where it is.
func TestAdminExplain(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		a := administer(t, ring, serve(t, echo), serve(t, echo))
		a.ctl("server", "set", "app", "one", "--state", "drain")
		c := dial(t, a.addr)
		c.send([]byte("x"))
		c.expect([]byte("x"))
		a.ctl("server", "set", "app", "two", "--state", "drain")
		a.ctl("server", "set", "app", "one", "--state", "up")
		var x struct {
			Outcome, Listener string
			Connection        struct{ Client, Backend, Server string }
			Backends          []struct {
				Servers []struct {
					Server, State, Origin string
					Chosen                bool
				}
			}
		}
		a.read(&x, "explain", "--connection", a.connections()[0].ID)
		if at := x.Connection; at.Server != "two" || at.Backend != "app" || at.Client != c.LocalAddr().String() {
			t.Errorf("the connection: %+v", at)
		}
		if s := x.Backends[0].Servers; x.Outcome != "forward" || len(s) != 2 || s[0].Chosen == s[1].Chosen {
			t.Fatalf("one like it: %+v", x)
		}
		for _, s := range x.Backends[0].Servers {
			if s.Chosen != (s.Server == "one") || !strings.Contains(s.Origin, a.file+":") {
				t.Errorf("server %+v", s)
			}
		}
		text := a.ctl("explain", "--from", "192.0.2.1")
		if !strings.HasPrefix(text, "listener web: the connection is forwarded\n") {
			t.Errorf("ctl explain:\n%s", text)
		}
		for _, args := range []string{"--connection 4711", "--from 192.0.2.1 --listener none"} {
			if r := a.tryCtl(append([]string{"explain"}, strings.Fields(args)...)...); r.code != 1 ||
				!strings.Contains(r.stderr, "not found") {
				t.Errorf("ctl explain %s: %+v", args, r)
			}
		}
	})
}
