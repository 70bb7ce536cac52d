package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
)

// holdConfig is a daemon whose clients wait while it has no server: settings for ring, socket, hold, check and servers.
const holdConfig = `ring: %s
metrics: "127.0.0.1:0"
admin: {address: "unix://%s"}
listeners:
  - {name: front, address: "127.0.0.1:0", backend: back}
backends:
  - name: back
    servers: [%s]
    check: {%sinterval: 200ms, timeout: 1s, fall: 1, rise: 1}
    retry_delay: 100ms
    hold: 30s
`

// startHolding starts a daemon with holdConfig.
func startHolding(t *testing.T, ring, check string, servers ...string) *administered {
	t.Helper()
	dir := t.TempDir()
	a := &administered{file: filepath.Join(dir, "reactord.yaml"), socket: filepath.Join(dir, "admin.sock")}
	var quoted []string
	for _, s := range servers {
		quoted = append(quoted, `"`+s+`"`)
	}
	a.write(t, fmt.Sprintf(holdConfig, ring, a.socket, strings.Join(quoted, ", "), check))
	a.start(t)
	return a
}

// backendNow is what the admin API says of a backend.
type backendNow struct {
	Up, Connections, Held int
	Paused                bool
	NoServer              int `json:"no_server"`
	QueueRefused          int `json:"queue_refused"`
}

// backend reads the only backend.
func (a *administered) backend() backendNow {
	a.t.Helper()
	var all struct{ Backends []backendNow }
	a.read(&all, "backends")
	return all.Backends[0]
}

// cluster is a primary and a standby of PostgreSQL.
type cluster struct {
	t     *testing.T
	bin   string
	as    *syscall.Credential
	home  string
	nodes [2]string // addresses
}

// startCluster starts a primary, the first node, and a standby that follows it.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, bin: postgresBin(t), as: postgresUser(t)}
	home, err := os.MkdirTemp("", "reactord-cluster-") //nolint:usetesting // another user must be able to enter it
	if err != nil {
		t.Fatal(err)
	}
	c.home = home
	t.Cleanup(func() { os.RemoveAll(home) })
	if err := os.Chown(home, int(c.as.Uid), int(c.as.Gid)); err != nil {
		t.Fatal(err)
	}
	for i := range c.nodes {
		c.nodes[i] = testenv.Vacant(t)
		t.Cleanup(func() {
			stop := exec.Command(filepath.Join(c.bin, "pg_ctl"), "-D", c.data(i), "-m", "immediate", "-s", "stop")
			stop.SysProcAttr, stop.Dir = &syscall.SysProcAttr{Credential: c.as}, c.home
			_ = stop.Run() // it may have stopped already
		})
	}
	c.run("initdb", "-D", c.data(0), "-U", "test", "-A", "trust", "-N", "--locale=C")
	c.start(0)
	host, port, _ := net.SplitHostPort(c.nodes[0])
	c.run("pg_basebackup", "-D", c.data(1), "-h", host, "-p", port, "-U", "test", "-c", "fast")
	c.follow(1, 0)
	return c
}

// data is the folder of a node's data.
func (c *cluster) data(node int) string { return filepath.Join(c.home, fmt.Sprint("data", node)) }

// run runs a program of PostgreSQL as its user.
func (c *cluster) run(program string, args ...string) string {
	c.t.Helper()
	cmd := exec.Command(filepath.Join(c.bin, program), args...)
	cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Credential: c.as}, c.home
	out, err := cmd.CombinedOutput()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(c.home, "log"))
		c.t.Fatalf("%s %v: %v\n%s\n%s", program, args, err, out, log)
	}
	return string(out)
}

// start starts a node.
func (c *cluster) start(node int) {
	c.t.Helper()
	host, port, _ := net.SplitHostPort(c.nodes[node])
	options := fmt.Sprintf("-F -k %s -h %s -p %s -c max_connections=50 -c shared_buffers=16MB", c.home, host, port)
	c.run("pg_ctl", "-D", c.data(node), "-w", "-s", "-l", filepath.Join(c.home, "log"), "-o", options, "start")
}

// follow starts a node as the standby of another one.
func (c *cluster) follow(node, primary int) {
	c.t.Helper()
	host, port, _ := net.SplitHostPort(c.nodes[primary])
	text := fmt.Sprintf("primary_conninfo = 'host=%s port=%s user=test'\n", host, port)
	for name, text := range map[string]string{"standby.signal": "", "postgresql.auto.conf": text} {
		file := filepath.Join(c.data(node), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			c.t.Fatal(err)
		}
		if err := os.Chown(file, int(c.as.Uid), int(c.as.Gid)); err != nil {
			c.t.Fatal(err)
		}
	}
	c.start(node)
	eventually(c.t, "the standby follows", func() bool {
		return strings.TrimSpace(c.sql(primary, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")) == "1"
	})
}

func (c *cluster) sql(node int, sql string) string {
	c.t.Helper()
	host, port, _ := net.SplitHostPort(c.nodes[node])
	return c.run("psql", "-XqAt", "-h", host, "-p", port, "-U", "test", "-d", "postgres", "-c", sql)
}

// pgbenchThrough connects through the daemon for each of its transactions, which write. Each client gives up when it
// cannot connect, or finds a standby.
func (c *cluster) pgbenchThrough(a *administered) *client {
	host, port, _ := net.SplitHostPort(a.addr)
	return startClient(c.t, filepath.Join(c.bin, "pgbench"), "-h", host, "-p", port, "-U", "test", "-n", "-N", "-C",
		"-c", "8", "-j", "8", "-T", "3600", "postgres")
}

// transactions is how many transactions have committed on a node.
func (c *cluster) transactions(node int) string {
	return c.sql(node, "SELECT count(*) FROM pgbench_history")
}

// finish ends pgbench as when its time is over, and expects that nothing has failed.
func (c *client) finish() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGALRM); err != nil {
		c.t.Fatal(err)
	}
	if out := c.succeed(); !strings.Contains(out, "number of failed transactions: 0 ") || c.stderr.Len() > 100 {
		c.t.Errorf("%s%s", out, c.stderr.String())
	} else {
		c.t.Log(out[strings.Index(out, "number of transactions"):])
	}
}

// A switchover of PostgreSQL as docs/operating.md describes it: the primary and its standby change places while clients
// connect for each transaction. No client sees a failed connect, nor a standby.
func TestSwitchoverOfPostgres(t *testing.T) {
	const switchovers = 3 // on each ring
	c := startCluster(t)
	host, port, _ := net.SplitHostPort(c.nodes[0])
	c.run("pgbench", "-h", host, "-p", port, "-U", "test", "-i", "-q", "-s", "1", "postgres")
	primary := 0
	onEachRing(t, func(t *testing.T, ring string) {
		c.t = t
		a := startHolding(t, ring, "protocol: postgresql, user: test, role: primary, ", c.nodes[:]...)
		bench := c.pgbenchThrough(a)
		for range switchovers {
			before := c.transactions(primary)
			eventually(t, "transactions commit", func() bool { return c.transactions(primary) != before })
			standby := 1 - primary
			a.ctl("backend", "pause", "back", "--for", "1m")
			eventually(t, "open transactions have ended", func() bool { return a.backend().Connections == 0 })
			eventually(t, "clients wait", func() bool { return a.backend().Held == 8 })
			c.run("pg_ctl", "-D", c.data(primary), "-w", "-s", "-m", "fast", "stop")
			c.run("pg_ctl", "-D", c.data(standby), "-w", "-s", "promote")
			a.ctl("backend", "resume", "back")
			c.follow(primary, standby)
			primary = standby
		}
		before := c.transactions(primary)
		eventually(t, "transactions commit", func() bool { return c.transactions(primary) != before })
		bench.finish()
		a.expectServers()
		a.stop()
	})
}

// A pause survives an upgrade, and those that wait in the old process are resumed with it.
func TestPauseSurvivesUpgrade(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		a := startHolding(t, ring, "", serve(t, echo))
		a.ctl("backend", "pause", "back", "--for", "2m")
		old := dial(t, a.addr)
		old.send([]byte("old"))
		eventually(t, "it waits", func() bool { return a.backend().Held == 1 })
		a.ctl("upgrade", "--wait", "0")
		var status struct {
			Paused []struct {
				Left float64 `json:"left_seconds"`
			}
		}
		a.read(&status, "status")
		if len(status.Paused) != 1 || status.Paused[0].Left < 60 || status.Paused[0].Left > 120 {
			t.Fatalf("after the upgrade: %+v", status)
		}
		later := dial(t, a.addr)
		later.send([]byte("new"))
		eventually(t, "it waits, too", func() bool { return a.backend().Held == 1 })
		a.ctl("backend", "resume", "back")
		old.expect([]byte("old"))
		later.expect([]byte("new"))
		a.ctl("drain") // the new process ends, and the old one with it
		old.finish()
		later.finish()
	})
}
