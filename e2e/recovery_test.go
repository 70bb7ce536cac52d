package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
)

// backing is a server that says its name to each connection, and can be stopped and started at the same address.
type backing struct {
	t       *testing.T
	name    string
	address string
	ln      net.Listener
}

func newBacking(t *testing.T, name string) *backing {
	t.Helper()
	b := &backing{t: t, name: name, address: testenv.Vacant(t)}
	b.start()
	t.Cleanup(b.stop)
	return b
}

func (b *backing) start() {
	b.t.Helper()
	ln, err := net.Listen("tcp", b.address)
	if err != nil {
		b.t.Fatal(err)
	}
	b.ln = ln
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, b.name)
			c.Close()
		}
	}()
}

func (b *backing) stop() { b.ln.Close() }

// A server that was killed under load and comes back has its clients as soon as its check has passed, each time:
// however long an ejection would last.
func TestServerRecovers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, server, expect string
		meanwhile            string // who answers while it is down; "": no server
	}{
		{"the only primary", "", "primary", ""},
		{"a primary with a spare", ", backup: true", "a", "spare"},
		{"one of two", "", "a", "spare"},
	} {
		t.Run(test.name, func(t *testing.T) {
			primary, spare := newBacking(t, "primary"), newBacking(t, "spare")
			d := startDiscovery(t, "epoll", fmt.Sprintf(`
backends:
  - name: b
    servers: [{address: 'tcp://%s'}, {address: 'tcp://%s'%s}]
    balance: {panic_threshold: 0, policy: round_robin}
    check: {interval: 500ms, fast_interval: 50ms, down_interval: 50ms, rise: 2, fall: 2, expect: %s}
    ejection: {time: 1h, max_time: 10h}
`, primary.address, spare.address, test.server, test.expect))
			eventually(t, "it serves", func() bool { return named(d.addr) == "primary" })
			for range 3 {
				primary.stop()
				for range 40 {
					if name := named(d.addr); name != test.meanwhile && name != "" {
						t.Fatalf("%q answers", name)
					}
				}
				primary.start()
				eventually(t, "it serves again", func() bool { return named(d.addr) == "primary" })
			}
			d.stop()
		})
	}
}

// newHung is the address of a server that accepts, and says nothing.
func newHung(t *testing.T) string {
	t.Helper()
	return serve(t, func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) })
}

// No client has a server that hangs: those that come before the first checks have ended wait for the one that does not.
// Meanwhile the process is not ready. A server that a reload adds is no exception.
func TestFirstChecksAreAwaited(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		good, hung := newBacking(t, "good"), newHung(t)
		settings := func(servers string) string {
			return fmt.Sprintf(`
backends:
  - name: b
    servers: [%s]
    balance: {policy: round_robin}
    check: {interval: 1h, timeout: 1s, expect: good}
`, servers)
		}
		d := startDiscovery(t, ring, settings("'tcp://"+good.address+"', 'tcp://"+hung+"'"))
		if status, body := d.get("/readyz"); status != http.StatusServiceUnavailable {
			t.Errorf("/readyz while a server is checked: %d %s", status, body)
		}
		for range 20 {
			if name := greeting(d.addr); name != "g" {
				t.Fatalf("%q answers", name)
			}
		}
		d.await("server is down")
		eventually(t, "it is ready", func() bool { status, _ := d.get("/readyz"); return status == http.StatusOK })
		d.stop()
	})
}

// The process after an upgrade knows which server is down: no client has it, and it is not found out anew.
func TestUpgradeKeepsHealth(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		good, hung := newBacking(t, "good"), newHung(t)
		d := startDiscovery(t, ring, fmt.Sprintf(`
backends:
  - name: b
    servers: ['tcp://%s', 'tcp://%s']
    balance: {policy: round_robin}
    check: {interval: 1h, timeout: 1s, expect: good}
`, good.address, hung))
		d.await("server is down")
		eventually(t, "it is ready", func() bool { status, _ := d.get("/readyz"); return status == http.StatusOK })
		g := generationsOf(t, d)
		for range 2 {
			g.upgrade()
			for range 20 {
				if name := greeting(d.addr); name != "g" {
					t.Fatalf("%q answers", name)
				}
			}
		}
		if n := len(d.logged(func(l line) bool { return l.Msg == "server is down" })); n != 1 {
			t.Errorf("the server has gone down %d times, want once", n)
		}
		g.end()
	})
}
