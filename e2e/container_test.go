package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

// container is a daemon in a PID namespace of its own, whose process 1 is its init process, or the daemon itself.
// Process ids in its log are those of the namespace.
type container struct {
	*daemon
	init   int // process 1, as seen from here
	dir    string
	config string
}

// startContainer runs a command line, which ends with that of the daemon, as process 1.
func startContainer(t *testing.T, ring string, command ...string) *container {
	t.Helper()
	unshare := need(t, "unshare", "util-linux")
	if r := runCommand(t, unshare, "--pid", "--fork", "--mount-proc", "true"); r.code != 0 {
		missing(t, "no PID namespace: "+r.stderr)
	}
	c := &container{dir: t.TempDir()}
	c.config = writeConfig(t, fmt.Sprintf(handoverConfig, ring, 2, c.dir, testenv.Vacant(t), serve(t, echo)))
	argv := []string{unshare, "--pid", "--fork", "--mount-proc", "--kill-child"}
	c.daemon = spawnCommand(t, slices.Concat(argv, command, []string{"serve", "--config", c.config}), nil)
	c.addr = c.await("listening").str("address")
	c.init = children(t, c.pid())[0]
	c.await("started")
	return c
}

// children returns the processes that a process is the parent of.
func children(t *testing.T, pid int) (all []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if fields[1] == strconv.Itoa(pid) {
			all = append(all, child)
		}
	}
	return all
}

// signal sends a signal to process 1.
func (c *container) signal(s syscall.Signal) {
	c.t.Helper()
	if err := unix.Kill(c.init, s); err != nil {
		c.t.Fatal(err)
	}
}

// ctl runs a command of ctl.
func (c *container) ctl(args ...string) result {
	c.t.Helper()
	return run(c.t, append([]string{"ctl", "--address", "unix://" + c.dir + "/admin"}, args...)...)
}

// upgraded waits until the process below the init process is another one, and the only one: the old one was reaped.
func (c *container) upgraded(old int) (next int) {
	c.t.Helper()
	eventually(c.t, "the old process has ended and was reaped", func() bool {
		all := children(c.t, c.init)
		if len(all) == 1 {
			next = all[0]
		}
		return next != 0 && next != old
	})
	return next
}

// In a container whose process 1 is reactord init, upgrades move the connections, by ctl and by a signal to process 1.
// Signals reach the newest process, the old ones are reaped, and the container ends with the newest one.
func TestContainerUpgrades(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		c := startContainer(t, ring, reactord, "init")
		conn := dial(t, c.addr)
		ping := func() {
			t.Helper()
			if err := pingPong(conn, 1, 2); err != nil {
				t.Fatal(err)
			}
		}
		ping()
		first := children(t, c.init)[0]
		if r := c.ctl("upgrade"); r.code != 0 || !strings.Contains(r.stdout, "\nmoved  1\n") {
			t.Fatalf("exit code %d, %s%s", r.code, r.stdout, r.stderr)
		}
		second := c.upgraded(first)
		ping()
		c.signal(unix.SIGUSR2)
		third := c.upgraded(second)
		ping()

		c.signal(unix.SIGHUP)
		l := c.await("reloaded")
		if n := len(c.logged(func(l line) bool { return l.Msg == "reloaded" })); n != 1 || l.field["pid"] != nil {
			t.Errorf("%d reloads, the first is %s", n, l.raw)
		}
		c.signal(unix.SIGTERM)
		c.await("draining")
		ping()
		if all := children(t, c.init); !slices.Equal(all, []int{third}) {
			t.Errorf("processes %v are there, want %d", all, third)
		}
		_ = conn.Close()
		if code := c.wait(patience); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
}

// A container whose newest process is killed ends, although an older one has connections: so it is started again.
func TestContainerEndsWithNewest(t *testing.T) {
	c := startContainer(t, "epoll", reactord, "init")
	writeFile(t, c.config, readFile(t, c.config)+"upgrade: {move_connections: false}\n")
	conn := dial(t, c.addr)
	if err := pingPong(conn, 1, 1); err != nil {
		t.Fatal(err)
	}
	old := children(t, c.init)[0]
	if r := c.ctl("upgrade"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	newest := children(t, old)
	if len(newest) != 1 {
		t.Fatalf("the processes below the old one are %v", newest)
	}
	if err := unix.Kill(newest[0], unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := c.wait(patience); code == 0 {
		t.Error("the exit code is 0")
	}
	if !hasEnded(old) {
		t.Error("the old process lives")
	}
}

// Process 1 refuses an upgrade, and so does a process below an init process that would end with it. The reason is said,
// and connections live on.
func TestContainerRefusesUpgrade(t *testing.T) {
	inits := map[string][]string{
		"alone":     {reactord},
		"tini":      {"tini", "--", reactord},
		"dumb-init": {"dumb-init", "--", reactord},
		"catatonit": {"catatonit", "--", reactord},
	}
	for name, command := range inits {
		t.Run(name, func(t *testing.T) {
			if name != "alone" {
				need(t, name, name)
			}
			c := startContainer(t, "epoll", command...)
			conn := dial(t, c.addr)
			r := c.ctl("upgrade")
			if r.code != 1 || !strings.Contains(r.stderr, "reactord init serve --config FILE") {
				t.Errorf("exit code %d, %s%s", r.code, r.stdout, r.stderr)
			}
			if err := pingPong(conn, 1, 2); err != nil {
				t.Error(err)
			}
			_ = conn.Close()
			c.signal(unix.SIGTERM)
			if code := c.wait(patience); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}
