package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serveUnix echoes on a unix socket until the test ends.
func serveUnix(t *testing.T, path string) *net.UnixListener {
	t.Helper()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.AcceptUnix()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	return ln
}

// TestUnixServers checks servers on unix sockets of the file and of discovery: bulk, half-close, checks, what the
// access log and ctl call them, an override by address, and an upgrade that keeps it.
func TestUnixServers(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		path, found, dir := socketPath(t), socketPath(t), t.TempDir()
		serveUnix(t, path)
		targets, log := filepath.Join(dir, "targets.json"), filepath.Join(dir, "access.log")
		admin := socketPath(t)
		if err := os.WriteFile(targets, fmt.Appendf(nil, `[{"targets": ["unix://%s"]}]`, found), 0o600); err != nil {
			t.Fatal(err)
		}
		d := spawn(t, nil, nil, "serve", "--config", writeConfig(t, fmt.Sprintf(`
ring: %s
loops: 2
admin: {address: 'unix://%s'}
access_log: {path: %s}
listeners:
  - {name: l, address: '127.0.0.1:0', backend: b}
backends:
  - {name: b, servers: ['unix://%s'], files: [{path: %s}], check: {interval: 100ms}}
`, ring, admin, log, path, targets)))
		addr := d.await("listening").str("address")
		d.await("started")
		g := generationsOf(t, d)
		ctl := func(args ...string) string {
			t.Helper()
			r := run(t, append([]string{"ctl", "--address", "unix://" + admin}, args...)...)
			if r.code != 0 {
				t.Fatalf("ctl %v: %d, %s", args, r.code, r.stderr)
			}
			return r.stdout
		}
		eventually(t, "the server that does not listen is down", func() bool {
			return strings.Contains(ctl("servers", "--json"), "the server's socket does not exist")
		})
		c := dial(t, addr)
		c.send([]byte("x"))
		c.expect([]byte("x"))
		go func() {
			_, _ = c.Write(bulk)
			_ = c.CloseWrite()
		}()
		c.expect(bulk)
		c.expectEOF()
		c.Close()
		eventually(t, "the connection is logged", func() bool {
			text, _ := os.ReadFile(log)
			return bytes.Contains(text, []byte(`"server_address":"unix://`+path+`"`))
		})
		serveUnix(t, found)
		eventually(t, "the other server is up", func() bool {
			return strings.Count(ctl("servers", "--json"), `"state":"up"`)+strings.Count(ctl("servers", "--json"), `"state": "up"`) == 2
		})
		ctl("server", "set", "b", "unix://"+path, "--state", "drain")
		g.upgrade()
		if text := ctl("servers", "--json"); !strings.Contains(text, "drain") || !strings.Contains(text, "unix://"+found) {
			t.Errorf("after the upgrade:\n%s", text)
		}
		g.end()
	})
}
