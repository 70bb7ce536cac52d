package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// chain is a daemon that has been upgraded without moving its connections: there is one in each of its processes.
type chain struct {
	*generations
	dir   string
	pids  []int // the last one accepts
	conns []peer
}

const chainConfig = `
ring: %s
loops: 2
admin: {address: 'unix://%s/admin'}
metrics: 127.0.0.1:0
access_log: {format: json, path: '%[2]s/access.log'}
drain: {timeout: 500ms}
upgrade: {move_connections: false%[4]s}
listeners:
  - {name: a, address: 'tcp://127.0.0.1:0', backend: b}
backends:
  - {name: b, servers: ['tcp://%[3]s'], idle_timeout: 0s}
`

func startChain(t *testing.T, ring string, upgrades int, upgrade string) *chain {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf(chainConfig, ring, dir, serve(t, echo), upgrade)
	d := startFile(t, writeConfig(t, text))
	c := &chain{generations: generationsOf(t, d), dir: dir}
	c.connect()
	for range upgrades {
		c.upgrade()
		c.connect()
	}
	return c
}

func (c *chain) connect() {
	c.t.Helper()
	p := dial(c.t, c.addr)
	p.send([]byte("x"))
	p.expect([]byte("x"))
	c.pids, c.conns = append(c.pids, c.pid), append(c.conns, p)
}

func (c *chain) ctl(args ...string) string {
	c.t.Helper()
	r := run(c.t, append([]string{"ctl", "--address", "unix://" + c.dir + "/admin"}, args...)...)
	if r.code != 0 {
		c.t.Fatalf("ctl %v: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// predecessors is what ctl status says of the old processes.
func (c *chain) predecessors() (all []struct{ PID, Connections int }) {
	c.t.Helper()
	var s struct {
		Predecessors []struct{ PID, Connections int } `json:"predecessors"`
	}
	if err := json.Unmarshal([]byte(c.ctl("--json", "status")), &s); err != nil {
		c.t.Fatal(err)
	}
	return s.Predecessors
}

// list returns the connections, in their order.
func (c *chain) list(args ...string) (all []listed) {
	c.t.Helper()
	out := c.ctl(append([]string{"--json", "connections"}, args...)...)
	for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		var page struct{ Connections []listed }
		if err := json.Unmarshal([]byte(line), &page); err != nil {
			c.t.Fatal(err, line)
		}
		all = append(all, page.Connections...)
	}
	return all
}

// ids are the ids of the connections that are listed, in their order.
func (c *chain) ids(args ...string) (ids []string) {
	c.t.Helper()
	for _, n := range c.list(args...) {
		ids = append(ids, n.ID)
	}
	return ids
}

// The connections of old processes are listed, counted and closed by the new one.
func TestPredecessors(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		c := startChain(t, ring, 2, "")
		oldest, old := c.pids[0], c.pids[1]
		all := c.predecessors()
		if len(all) != 2 || all[0].PID != old || all[1].PID != oldest || all[0].Connections+all[1].Connections != 2 {
			t.Fatalf("%+v, want processes %d and %d", all, old, oldest)
		}
		if text := c.ctl("status"); !strings.Contains(text, fmt.Sprintf("old process  %d: version", oldest)) {
			t.Errorf("ctl status:\n%s", text)
		}
		_, text := c.get("/metrics")
		for _, want := range []string{"reactord_predecessors 2\n", "reactord_predecessor_connections 2\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in the metrics", want)
			}
		}
		ids := c.ids()
		if len(ids) != 3 || !strings.HasSuffix(ids[1], fmt.Sprint("@", old)) ||
			!strings.HasSuffix(ids[2], fmt.Sprint("@", oldest)) {
			t.Fatalf("connections %q", ids)
		}
		if pages := c.ids("--limit", "2"); !slices.Equal(pages, ids[:2]) {
			t.Errorf("two connections are %q", pages)
		}
		if one := c.ids("--pid", fmt.Sprint(oldest)); !slices.Equal(one, ids[2:]) {
			t.Errorf("connections of the oldest process are %q", one)
		}
		if text := c.ctl("explain", "--connection", ids[2]); !strings.Contains(text, "is forwarded") {
			t.Errorf("a connection of the oldest process:\n%s", text)
		}
		c.ctl("close", ids[2])
		c.conns[0].expectReset()
		c.awaitGone(oldest)
		eventually(t, "it is not listed", func() bool { return len(c.predecessors()) == 1 })
		if out := c.ctl("close", "--all"); out != "2 connections closed\n" {
			t.Error(out)
		}
		c.conns[1].expectReset()
		c.awaitGone(old)
		eventually(t, "it is not listed", func() bool { return len(c.predecessors()) == 0 })
		c.end()
	})
}

// A rotation of the access log reaches old processes: no line is lost.
func TestPredecessorsReopenAccessLog(t *testing.T) {
	c := startChain(t, "auto", 2, "")
	path := filepath.Join(c.dir, "access.log")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(c.pid, unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	for _, pid := range c.pids {
		eventually(t, fmt.Sprintf("process %d has opened the new file", pid), func() bool { return hasOpen(pid, path) })
	}
	for _, p := range c.conns {
		p.finish()
		p.expectEOF()
	}
	eventually(t, "each connection has a line in the new file", func() bool {
		text, _ := os.ReadFile(path)
		return strings.Count(string(text), "\n") == len(c.conns)
	})
	c.end()
}

// hasOpen reports whether a process has a file open, and not one that was moved away.
func hasOpen(pid int, path string) bool {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return slices.ContainsFunc(fds, func(fd string) bool {
		to, err := os.Readlink(fd)
		return err == nil && to == path
	})
}

// The end of the new process is the end of the service: old processes drain with it, and it waits for them.
func TestPredecessorsEndTogether(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		c := startChain(t, ring, 2, "")
		c.conns[2].finish()
		c.conns[2].expectEOF()
		if err := unix.Kill(c.pid, unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		c.awaitGone(c.pid)
		for i, p := range c.conns[:2] {
			p.expectReset()
			c.awaitGone(c.pids[i])
		}
	})
}

// A signal to all processes at a time drains old ones once: that the new one has them drain, too, does not reset their
// connections before drain.timeout.
func TestPredecessorsAreAllSignalled(t *testing.T) {
	c := startChain(t, "auto", 1, "")
	c.conns[1].finish()
	c.conns[1].expectEOF()
	for _, pid := range c.pids {
		if err := unix.Kill(pid, unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	l := c.await("drain timed out: resetting the remaining connections")
	if pid, _ := l.field["pid"].(float64); int(pid) != c.pids[0] {
		t.Errorf("the line is not the old process's: %s", l.raw)
	}
	c.conns[0].expectReset()
	for _, pid := range c.pids {
		c.awaitGone(pid)
	}
}

// An old process that is killed is forgotten. When the new process is killed, old ones go on, and can be ended.
func TestPredecessorsAreKilled(t *testing.T) {
	c := startChain(t, "auto", 2, "")
	if err := unix.Kill(c.pids[1], unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is not listed", func() bool {
		all := c.predecessors()
		return len(all) == 1 && all[0].PID == c.pids[0]
	})
	if err := unix.Kill(c.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.awaitGone(c.pid)
	c.conns[0].send([]byte("still"))
	c.conns[0].expect([]byte("still"))
	if err := unix.Kill(c.pids[0], unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.awaitGone(c.pids[0])
}

// A process that is stopped does not keep the new one from answering.
func TestPredecessorIsStopped(t *testing.T) {
	c := startChain(t, "auto", 1, "")
	if err := unix.Kill(c.pids[0], unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if text := c.ctl("status"); !strings.Contains(text, fmt.Sprintf("old process  %[1]d: process %[1]d: ", c.pids[0])) {
		t.Errorf("ctl status:\n%s", text)
	}
	if err := unix.Kill(c.pids[0], unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.ctl("close", "--all")
	c.awaitGone(c.pids[0])
	c.end()
}

// An old process drains when upgrade.timeout of the new one has passed. Its log lines have its id.
func TestUpgradeTimeout(t *testing.T) {
	c := startChain(t, "auto", 1, ", timeout: 200ms")
	c.conns[0].expectReset()
	c.awaitGone(c.pids[0])
	l := c.await("draining the old process: upgrade.timeout has passed")
	if pid, _ := l.field["pid"].(float64); int(pid) != c.pids[0] {
		t.Errorf("the line is not marked: %s", l.raw)
	}
	c.conns[1].send([]byte("new"))
	c.conns[1].expect([]byte("new"))
	c.end()
}

// The old process does not check servers. With close_on_down the new one, which does, has it reset its connections.
func TestPredecessorsDoNotCheck(t *testing.T) {
	dir := t.TempDir()
	l := listen(t)
	var accepted atomic.Int64
	serveOn(t, l.TCPListener, func(c *net.TCPConn) {
		accepted.Add(1)
		echo(c)
	})
	d := startFile(t, writeConfig(t, fmt.Sprintf(`
metrics: 127.0.0.1:0
admin: {address: 'unix://%s/admin'}
upgrade: {move_connections: false}
listeners: [{name: a, address: 'tcp://127.0.0.1:0', backend: b}]
backends:
  - {name: b, servers: ['tcp://%s'], check: {interval: 20ms, fall: 2, close_on_down: true}}
`, dir, l.addr())))
	c := &chain{generations: generationsOf(t, d), dir: dir}
	c.connect()
	c.upgrade()
	if err := unix.Kill(c.pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nothing checks while the new process is stopped", func() bool {
		before := accepted.Load()
		time.Sleep(300 * time.Millisecond)
		return accepted.Load() == before
	})
	if err := unix.Kill(c.pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	c.await("server is down")
	c.conns[0].expectReset()
	c.awaitGone(c.pids[0])
	c.end()
}
