package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

// Of two upgrades at the same moment one is refused, or they follow each other. Either way the newest process has all
// connections, and no other process is left.
func TestUpgradesAtTheSameMoment(t *testing.T) {
	const connections, times = 50, 3
	streams := newStreams(t, connections)
	m := startMover(t, streams.server)
	streams.start(m.addr)
	m.awaitOpen(connections)
	for i := range times {
		n, old, before := len(m.logged(anything)), m.pid, m.ids()
		var both sync.WaitGroup
		results := make([]result, 2)
		for k := range results {
			both.Go(func() {
				results[k] = run(t, "ctl", "--address", "unix://"+m.dir+"/admin", "upgrade")
			})
		}
		if i%2 == 1 { // and a third one
			_ = unix.Kill(old, unix.SIGUSR2)
		}
		both.Wait()
		m.awaitSince(n, "upgraded: the new process accepts connections")
		for _, r := range results {
			if r.code != 0 && !strings.Contains(r.stderr, "not possible now") {
				t.Errorf("ctl upgrade: exit code %d: %s%s", r.code, r.stdout, r.stderr)
			}
		}
		m.settle()
		if after := m.ids(); !slices.Equal(after, before) {
			t.Fatalf("connections %q are left of %q", after, before)
		}
	}
	streams.end()
	m.endNormal(connections)
}

// settle waits until one process is left, which accepts.
func (g *generations) settle() {
	g.t.Helper()
	eventually(g.t, "one process is left", func() bool {
		upgrading := g.logged(func(l line) bool { return l.Msg == "upgrading" })
		done := g.logged(func(l line) bool {
			return l.Msg == "upgraded: the new process accepts connections" || strings.HasPrefix(l.Msg, "upgrade failed")
		})
		var living []int
		for _, l := range g.logged(func(l line) bool { return l.Msg == "started" }) {
			if pid, _ := l.field["pid"].(float64); !hasEnded(int(pid)) {
				living = append(living, int(pid))
			}
		}
		if len(living) != 1 || len(done) < len(upgrading) {
			return false
		}
		g.pid = living[0]
		return true
	})
}

// Connections that cannot move at once reach the newest process from all processes before it: clients that have not
// said yet where they come from, in an upgrade for each of them that begins while connections of the one before move.
func TestUpgradesInARow(t *testing.T) {
	const n, upgrades = 100, 3
	onEachRing(t, func(t *testing.T, ring string) {
		dir, addr, late, secure := t.TempDir(), testenv.Vacant(t), testenv.Vacant(t), testenv.Vacant(t)
		streams := newStreams(t, n)
		text := fmt.Sprintf(handoverConfig, ring, 2, dir, addr, streams.server)
		text = strings.Replace(text, "backends:", fmt.Sprintf(
			"  - {name: late, address: 'tcp://%s', backend: b, proxy_protocol: {trusted: [127.0.0.0/8]}, inspect_timeout: 5m}\n"+
				"  - {name: secure, address: 'tcp://%s', backend: b, tls: {certificates: [{cert: '%s'}]}}\nbackends:",
			late, secure, newAuthority(t).issue("front", "front.test")), 1)
		g, _, _ := configured(t, text)
		c := &chain{generations: g, dir: dir}
		streams.start(addr)
		var waiting []peer
		var staying []*tls.Conn
		var pids []int
		for range upgrades {
			for range 3 {
				waiting = append(waiting, dial(t, late))
			}
			s, err := tls.Dial("tcp", secure, &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := pingPong(s, 0, 1); err != nil {
				t.Fatal(err)
			}
			staying = append(staying, s)
			eventually(t, "the connections are accepted", func() bool {
				return len(c.ids("--listener", "late")) == len(waiting)
			})
			pids = append(pids, g.pid)
			g.upgrade() // while the last one may still move connections
		}
		for _, p := range waiting {
			p.send([]byte("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nx"))
			p.expect([]byte("x"))
		}
		eventually(t, "all but those of TLS are in the newest process", func() bool {
			own := 0
			for _, id := range c.ids() {
				if !strings.Contains(id, "@") {
					own++
				}
			}
			return own == n+len(waiting)
		})
		if ids := c.ids("--listener", "secure"); len(ids) != upgrades {
			t.Errorf("connections of TLS: %q", ids)
		}
		for i, s := range staying {
			if err := pingPong(s, 0, 1); err != nil {
				t.Error(err)
			}
			_ = s.CloseWrite()
			if _, err := io.ReadAll(s); err != nil {
				t.Error(err)
			}
			_ = s.Close()
			g.awaitGone(pids[i])
		}
		for _, p := range waiting {
			p.finish()
			p.expectEOF()
		}
		streams.end()
		c.endNormal(n + len(waiting) + len(staying))
	})
}
