package e2e

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

const handoverConfig = `
ring: %s
loops: %d
admin: {address: 'unix://%s/admin'}
access_log: {format: json, path: '%[3]s/access.log'}
listeners:
  - {name: a, address: 'tcp://%[4]s', backend: b}
backends:
  - {name: b, servers: ['tcp://%[5]s']}
`

// mover is a daemon whose upgrades alternate its ring and its number of loops, and move all of its connections.
type mover struct {
	*chain
	config, program string           // paths of its files
	text            func(int) string // of the configuration, by the number of upgrades
	n               int              // upgrades so far
	bound           time.Duration    // on every wait
}

// startMover starts one before a server.
func startMover(t *testing.T, server string) *mover {
	t.Helper()
	needIOURing(t)
	dir, addr := t.TempDir(), testenv.Vacant(t)
	text := func(i int) string {
		return fmt.Sprintf(handoverConfig, []string{"io_uring", "epoll"}[i%2], 1+i%3, dir, addr, server)
	}
	g, config, program := configured(t, text(0))
	return &mover{chain: &chain{generations: g, dir: dir}, config: config, program: program, text: text, bound: patience}
}

// upgrade replaces the process, and waits until the old one has ended.
func (m *mover) upgrade() {
	m.t.Helper()
	m.n++
	writeFile(m.t, m.config, m.text(m.n))
	old := m.pid
	m.generations.upgrade()
	eventuallyWithin(m.t, m.bound, fmt.Sprintf("process %d has ended", old), func() bool { return hasEnded(old) })
}

// move is an upgrade under connections that neither end nor are joined by others: the new process has these.
func (m *mover) move(connections int) {
	m.t.Helper()
	before := m.ids()
	m.upgrade()
	if after := m.ids(); len(before) != connections || !slices.Equal(after, before) {
		m.t.Fatalf("connections %q have moved, and %q are there, want %d", before, after, connections)
	}
	if n := m.taken(); n != connections {
		m.t.Fatalf("%d connections have moved, want %d", n, connections)
	}
}

// awaitOpen waits until so many connections are open.
func (m *mover) awaitOpen(n int) {
	m.t.Helper()
	what := fmt.Sprintf("%d connections are open", n)
	eventuallyWithin(m.t, m.bound, what, func() bool { return len(m.ids()) == n })
}

// awaitBytes waits until further bytes have passed on each connection.
func (m *mover) awaitBytes() {
	m.t.Helper()
	before := m.list()
	eventually(m.t, "bytes flow", func() bool {
		now := m.list()
		for i := range before {
			if i >= len(now) || now[i].ID != before[i].ID || now[i] == before[i] {
				return false
			}
		}
		return true
	})
}

// taken is how many connections the new process has taken from old ones.
func (c *chain) taken() int {
	c.t.Helper()
	var s struct{ Handover struct{ Taken int } }
	if err := json.Unmarshal([]byte(c.ctl("--json", "status")), &s); err != nil {
		c.t.Fatal(err)
	}
	return s.Handover.Taken
}

// logLine is a line of the access log.
type logLine struct {
	ID    uint64
	By    string
	Bytes int `json:"bytes_from_client"`
}

// logLines are the lines of the access log, of which each connection has one.
func (c *chain) logLines() (all []logLine) {
	c.t.Helper()
	seen := map[uint64]bool{}
	for _, text := range linesOf(c.t, filepath.Join(c.dir, "access.log")) {
		var l logLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			c.t.Errorf("%v: %s", err, text)
		}
		if seen[l.ID] {
			c.t.Errorf("a connection has two lines: %s", text)
		}
		seen[l.ID], all = true, append(all, l)
	}
	return all
}

// endNormal drains the daemon. So many connections have a line in its access log, and all have ended normally.
func (c *chain) endNormal(connections int) {
	c.t.Helper()
	c.end()
	all := c.logLines()
	if len(all) != connections {
		c.t.Errorf("%d lines of %d connections", len(all), connections)
	}
	for _, l := range all {
		if l.By != "normal" {
			c.t.Errorf("%+v has not ended normally", l)
		}
	}
}

// setting is a number in the environment.
func setting(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// Streams of all kinds live through upgrades that alternate the ring and the number of loops, under new connections:
// none breaks, no byte is wrong, every old process ends within seconds, and the access log has one line for each at its
// end. REACTORD_E2E_STREAMS and REACTORD_E2E_UPGRADES make it larger.
func TestUpgradeMovesConnections(t *testing.T) {
	n, upgrades := setting("REACTORD_E2E_STREAMS", 50), setting("REACTORD_E2E_UPGRADES", 6)
	streams := newStreams(t, n)
	m := startMover(t, streams.server)
	m.bound = max(patience, time.Duration(n)*patience/100)
	streams.start(m.addr)
	m.awaitOpen(n)
	load := startLoad(m.addr, 2)
	for range upgrades {
		m.upgrade()
		if moved := m.taken(); moved < n {
			t.Errorf("%d connections have moved, fewer than the %d streams", moved, n)
		}
		before := load.connections.Load()
		eventuallyWithin(t, m.bound, "connections are made", func() bool {
			return load.connections.Load() > before+4 || len(load.errs) > 0
		})
		if t.Failed() {
			break
		}
	}
	streams.end()
	load.end(t)
	m.endNormal(n + int(load.connections.Load()))
}

// A connection keeps its id and its age when it moves, and one whose TLS ends here stays in the old process, which says
// so.
func TestUpgradeLeavesTLS(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		dir := t.TempDir()
		a := newAuthority(t)
		cert := a.issue("front", "front.test")
		text := fmt.Sprintf(handoverConfig, ring, 2, dir, testenv.Vacant(t), serve(t, echo))
		secure := testenv.Vacant(t)
		text = strings.Replace(text, "backends:", fmt.Sprintf(
			"  - {name: s, address: 'tcp://%s', backend: b, tls: {certificates: [{cert: '%s'}]}}\nbackends:",
			secure, cert), 1)
		g, _, _ := configured(t, text)
		plain := dial(t, g.addr)
		plain.send([]byte("x"))
		plain.expect([]byte("x"))
		c, err := tls.Dial("tcp", secure, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ping := func() {
			t.Helper()
			if err := pingPong(c, 'x', 2); err != nil {
				t.Error(err)
			}
		}
		ping()
		ch := &chain{generations: g, dir: dir}
		before := ch.ids()
		old := g.pid
		g.upgrade()
		eventually(t, "one has moved", func() bool {
			return strings.Contains(ch.ctl("status"), "1 moved, 1 stay (tls)")
		})
		plain.send([]byte("y"))
		plain.expect([]byte("y"))
		ping()
		after := ch.ids()
		if !sameBut(after, before, fmt.Sprint("@", old)) {
			t.Errorf("connections %q, before %q", after, before)
		}
		_ = c.Close()
		g.awaitGone(old)
		plain.finish()
		plain.expectEOF()
		g.end()
	})
}

// sameBut reports whether the ids are the same, but for a suffix of some.
func sameBut(a, b []string, suffix string) bool {
	for i := range a {
		a[i] = strings.TrimSuffix(a[i], suffix)
	}
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// answered opens connections, on each of which a byte has come back.
func answered(t *testing.T, addr string, n int) (all []net.Conn) {
	t.Helper()
	for range n {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := pingPong(c, 1, 1); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// If the new process is killed while it takes connections, each of them lives on in the old process, or has ended with
// the new one; none is stuck.
func TestUpgradeKilledWhileConnectionsMove(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		const streams = 200
		for _, delay := range []int{0, 2, 4, 8, 16, 32} {
			dir := t.TempDir()
			g, _, _ := configured(t, fmt.Sprintf(handoverConfig, ring, 2, dir, testenv.Vacant(t), serve(t, echo)))
			conns := answered(t, g.addr, streams)
			old := g.replace()
			time.Sleep(time.Duration(delay) * time.Millisecond)
			_ = unix.Kill(g.pid, unix.SIGKILL)
			g.awaitGone(g.pid)
			alive := 0
			for i, c := range conns {
				switch err := pingPong(c, 2, 2); {
				case err == nil:
					alive++
				case errors.Is(err, os.ErrDeadlineExceeded):
					t.Errorf("connection %d is stuck", i)
				}
			}
			t.Logf("%d of %d connections live on", alive, streams)
			_ = unix.Kill(old, unix.SIGKILL)
		}
	})
}

// A new process that refuses its configuration leaves the connections where they are. They move when it is mended.
func TestUpgradeRefusedKeepsConnections(t *testing.T) {
	const n = 50
	streams := newStreams(t, n)
	m := startMover(t, streams.server)
	streams.start(m.addr)
	m.awaitOpen(n)
	taken := testenv.Vacant(t)
	l, err := net.Listen("tcp", taken)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for why, text := range map[string]string{
		m.config + ":1:12":       "listeners: 7",
		"address already in use": m.text(1) + "metrics: '" + taken + "'\n",
	} {
		before := m.ids()
		writeFile(t, m.config, text)
		r := run(t, "ctl", "--address", "unix://"+m.dir+"/admin", "upgrade")
		if r.code != 1 || !strings.Contains(r.stderr, why) {
			t.Errorf("exit code %d, want the reason %s: %s%s", r.code, why, r.stdout, r.stderr)
		}
		m.awaitBytes()
		if after := m.ids(); !slices.Equal(after, before) || len(after) != n || m.taken() != 0 {
			t.Errorf("connections %q, before %q", after, before)
		}
	}
	m.move(n)
	streams.end()
	m.endNormal(n)
}
