package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestVersion(t *testing.T) {
	r := run(t, "version")
	if r.code != 0 || !strings.Contains(r.stdout, "reactord") || !strings.Contains(r.stdout, runtime.Version()) {
		t.Errorf("exit code %d, %q", r.code, r.stdout)
	}
}

// doctor reports which ring auto takes, and why.
func TestDoctor(t *testing.T) {
	r := run(t, "doctor")
	if r.code != 0 {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
	for _, word := range []string{"io_uring", "epoll"} {
		if !strings.Contains(r.stdout, word) {
			t.Errorf("nothing about %s in %q", word, r.stdout)
		}
	}
}

// The exit code distinguishes a wrong command line from a failure.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"no-such-command"}, 2},
		{[]string{"proxy"}, 2},
		{[]string{"proxy", "--listen", "tcp://127.0.0.1:0"}, 2},
		{[]string{"proxy", "--listen", "127.0.0.1", "--to", "tcp://127.0.0.1:1"}, 2},
		{[]string{"proxy", "--listen", "tcp://127.0.0.1:0", "--to", "tcp://127.0.0.1:1", "--ring", "kqueue"}, 2},
		{[]string{"proxy", "--listen", "tcp://127.0.0.1:9", "--to", "tcp://127.0.0.1:9"}, 2},
		{[]string{"proxy", "--listen", "tcp://192.0.2.1:1", "--to", "tcp://127.0.0.1:1"}, 1},
		{[]string{"serve", "--config", "/no/such/file.yaml"}, 1},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			r := run(t, c.args...)
			if r.code != c.code || r.stderr == "" {
				t.Errorf("exit code %d, want %d; %q", r.code, c.code, r.stderr)
			}
		})
	}
}

const goodConfig = `
ring: %s
metrics: 127.0.0.1:0
listeners:
  - name: echo
    address: tcp://127.0.0.1:0
    backend: echo
backends:
  - name: echo
    servers: [tcp://%s]
`

// writeConfig writes a configuration to a file and returns its path.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reactord.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheck(t *testing.T) {
	t.Run("good", func(t *testing.T) {
		r := run(t, "check", "--config", writeConfig(t, fmt.Sprintf(goodConfig, "auto", "127.0.0.1:1")))
		if r.code != 0 {
			t.Errorf("exit code %d: %s", r.code, r.stderr)
		}
	})
	t.Run("example", func(t *testing.T) {
		r := run(t, "check", "--config", "../cmd/reactord/example.yaml")
		if r.code != 0 {
			t.Errorf("exit code %d: %s", r.code, r.stderr)
		}
	})
	good := fmt.Sprintf(goodConfig, "auto", "127.0.0.1:1")
	for name, c := range map[string]struct{ old, new, position string }{
		"not YAML":         {"listeners:", "listeners: [", ""},
		"unknown key":      {"    backend: echo", "    backened: echo", ":7:5:"},
		"bad address":      {"tcp://127.0.0.1:0", "tcp://127.0.0.1", ":6:14:"},
		"unknown backend":  {"    backend: echo", "    backend: ecco", ":7:14:"},
		"unknown ring":     {"ring: auto", "ring: kqueue", ":2:7:"},
		"no such duration": {"metrics: 127.0.0.1:0", "drain: {timeout: soon}", ":3:18:"},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeConfig(t, strings.Replace(good, c.old, c.new, 1))
			r := run(t, "check", "--config", path)
			if r.code != 1 {
				t.Errorf("exit code %d, want 1", r.code)
			}
			if said := r.stdout + r.stderr; !strings.Contains(said, path+c.position) {
				t.Errorf("want %s in %q", filepath.Base(path)+c.position, said)
			}
		})
	}
}

// serve runs from a file what proxy runs from arguments.
func TestServe(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		d := spawn(t, nil, nil, "serve", "--config", writeConfig(t, fmt.Sprintf(goodConfig, ring, serve(t, echo))))
		listening := d.await("listening")
		if listening.str("listener") != "echo" {
			t.Errorf("the listener is called %q", listening.str("listener"))
		}
		c := dial(t, listening.str("address"))
		c.send(bulk[:64<<10])
		c.finish()
		c.expect(bulk[:64<<10])
		c.expectEOF()
		d.stop()
	})
}

// Two daemons cannot have the same address; the error of the second one says why.
func TestAddressInUse(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		taken := startProxy(t, ring, []string{"127.0.0.1:1"}).addr
		r := run(t, "proxy", "--ring", ring, "--listen", "tcp://"+taken, "--to", "tcp://127.0.0.1:1")
		why := syscall.EADDRINUSE.Error()
		if r.code != 1 || !strings.Contains(r.stderr, why) || !strings.Contains(r.stderr, taken) {
			t.Errorf("exit code %d, %q", r.code, r.stderr)
		}
	})
}
