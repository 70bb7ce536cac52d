package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
)

// operated is a daemon with discovery by a file, and servers that say their names.
type operated struct {
	*generations
	t       *testing.T
	dir     string
	config  string
	targets string // the file of discovery
}

// sayer starts a server that says its name.
func sayer(t *testing.T, name string) string {
	return serve(t, func(c *net.TCPConn) {
		_, _ = c.Write([]byte(name))
		_, _ = io.Copy(io.Discard, c)
	})
}

func operate(t *testing.T, ring string, servers ...string) *operated {
	t.Helper()
	o := &operated{t: t, dir: t.TempDir()}
	o.targets = filepath.Join(o.dir, "targets.json")
	o.discover(servers...)
	text := fmt.Sprintf(`
ring: %s
loops: 1
admin: {address: 'unix://%s/admin', overrides_file: '%s/overrides.json'}
listeners:
  - {name: a, address: 'tcp://%s', backend: b}
backends:
  - {name: b, balance: {policy: round_robin}, files: [{path: '%s'}]}
`, ring, o.dir, o.dir, testenv.Vacant(t), o.targets)
	o.generations, o.config, _ = configured(t, text)
	return o
}

// discover writes the servers that discovery finds: "ADDRESS" or "ADDRESS ZONE".
func (o *operated) discover(servers ...string) {
	o.t.Helper()
	type target struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels,omitempty"`
	}
	all := []target{}
	for _, s := range servers {
		address, zone, _ := strings.Cut(s, " ")
		all = append(all, target{[]string{address}, map[string]string{"locality": zone}})
	}
	text, err := json.Marshal(all)
	if err != nil {
		o.t.Fatal(err)
	}
	writeFile(o.t, o.targets+".new", string(text))
	if err := os.Rename(o.targets+".new", o.targets); err != nil {
		o.t.Fatal(err)
	}
}

func (o *operated) ctl(code int, args ...string) string {
	o.t.Helper()
	r := run(o.t, append([]string{"ctl", "--address", "unix://" + o.dir + "/admin"}, args...)...)
	if r.code != code {
		o.t.Fatalf("ctl %v: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout + r.stderr
}

// got returns which servers serve, of as many connections as there may be servers, twice.
func (o *operated) got() (names string) {
	o.t.Helper()
	seen := map[byte]bool{}
	for range 8 {
		c, err := net.DialTimeout("tcp", o.addr, time.Second)
		if err != nil {
			o.t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		name := make([]byte, 1)
		if _, err := io.ReadFull(c, name); err == nil {
			seen[name[0]] = true
		}
		c.Close()
	}
	for _, name := range []byte("abcd") {
		if seen[name] {
			names += string(name)
		}
	}
	return names
}

func (o *operated) expect(want string) {
	o.t.Helper()
	if got := o.got(); got != want {
		o.t.Errorf("served by %q, want %q\n%s", got, want, o.ctl(0, "servers"))
	}
}

// upgradeByCtl replaces the process.
func (o *operated) upgradeByCtl() {
	o.t.Helper()
	n, old := len(o.logged(anything)), o.pid
	o.ctl(0, "upgrade")
	pid, _ := o.awaitSince(n, "upgraded: the new process accepts connections").field["successor"].(float64)
	o.pid = int(pid)
	o.awaitGone(old)
}

// What operators do to servers stays, whatever discovery says meanwhile, across a reload, an upgrade and a restart.
func TestOverrides(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		a, b, c, d := sayer(t, "a"), sayer(t, "b"), sayer(t, "c"), sayer(t, "d")
		o := operate(t, ring, a+" one", b+" one")
		eventually(t, "discovery has found the servers", func() bool { return o.got() == "ab" })

		o.ctl(0, "server", "add", "b", c, "--name", "new", "--zone", "two")
		o.expect("abc")
		o.ctl(0, "server", "remove", "b", a)
		o.expect("bc")
		for _, test := range []struct{ args, want string }{
			{"server add b " + c, "has " + c + " already"},
			{"server add none " + c, `backend "none"`},
			{"server add b host:80", "write IP:PORT"},
			{"server add b " + d + " --name new", `"new" is the name of another server`},
			{"server remove b " + a, "is removed already"},
			{"server set b none --weight 2", `server "none"`},
			{"server set b " + a + " --weight 2", "the server is removed"},
			{"drain --zone one --backend none", `backend "none"`},
		} {
			if text := o.ctl(1, strings.Fields(test.args)...); !strings.Contains(text, test.want) {
				t.Errorf("%s: %s, want %q", test.args, text, test.want)
			}
		}
		o.ctl(0, "server", "set", "b", b, "--health", "down", "--for", "1h")
		o.expect("c")
		if text := o.ctl(1, "server", "remove", "b", "none"); !strings.Contains(text, "no such server") {
			t.Error(text)
		}
		o.ctl(0, "drain", "--zone", "four")

		for _, stage := range []struct {
			name string
			do   func()
		}{
			{"reload", func() { o.ctl(0, "reload") }},
			{"upgrade", o.upgradeByCtl},
			{"restart", o.restart},
		} {
			stage.do()
			o.discover(a+" one", b+" one", d+" four") // in the zone that drains
			eventually(t, "discovery has found the server", func() bool { return strings.Contains(o.ctl(0, "servers"), d) })
			if got := o.got(); got != "c" {
				t.Errorf("after a %s: served by %q\n%s", stage.name, got, o.ctl(0, "servers"))
			}
			text := o.ctl(0, "overrides")
			for _, want := range []string{"removed", "added", "health down for another ", "drain of locality four"} {
				if !strings.Contains(text, want) {
					t.Errorf("after a %s: %q is missing:\n%s", stage.name, want, text)
				}
			}
			o.discover(a+" one", b+" one")
			eventually(t, "the server is gone", func() bool { return !strings.Contains(o.ctl(0, "servers"), d) })
		}
		o.ctl(0, "server", "set", "b", b, "--health", "auto")
		o.ctl(0, "drain", "--zone", "four", "--undo")
		o.expect("bc")
		if text := o.ctl(0, "overrides", "clear", "--all"); text != "2 overrides ended\n" {
			t.Error(text)
		}
		o.expect("ab")
		o.end()
	})
}

// restart ends the process and starts another one.
func (o *operated) restart() {
	o.t.Helper()
	o.end()
	d := spawn(o.t, nil, nil, "serve", "--config", o.config)
	d.addr = d.await("listening").str("address")
	o.generations = generationsOf(o.t, d)
	eventually(o.t, "discovery has found the servers", func() bool { return strings.Contains(o.ctl(0, "servers"), "new") })
}

// A file of overrides that cannot be read is reported, and prevents no start. What a hostile one has is bounded and
// checked.
func TestOverridesFile(t *testing.T) {
	t.Parallel()
	a, b := sayer(t, "a"), sayer(t, "b")
	o := operate(t, "auto", a)
	eventually(t, "discovery has found the server", func() bool { return o.got() == "a" })
	o.end()
	file := filepath.Join(o.dir, "overrides.json")
	for _, test := range []struct{ text, want string }{
		{"{", "cannot restore the overrides of servers"},
		{`{"overrides": [{"backend": "b", "server": "x"}]}`, "cannot restore the overrides of servers"},
		{`{"overrides": [
			{"backend": "none", "server": "` + b + `", "added": {"weight": 1}},
			{"backend": "b", "server": "` + b + `", "added": {"weight": 100000}},
			{"backend": "b", "server": "` + a + `", "health": "down", "until": "2020-01-01T00:00:00Z"}],
			"drains": [{}, {"network": "10.0.0.1/8"}]}`, "listening"},
	} {
		writeFile(t, file, test.text)
		d := spawn(t, nil, nil, "serve", "--config", o.config)
		d.addr = d.await("listening").str("address")
		d.await(test.want)
		o.generations = generationsOf(t, d)
		eventually(t, "discovery has found the server", func() bool { return o.got() == "a" })
		if text := o.ctl(0, "overrides"); text != "none\n" {
			t.Errorf("%s: %s", test.text, text)
		}
		d.signal(syscall.SIGTERM)
		d.wait(10 * time.Second)
	}
}
