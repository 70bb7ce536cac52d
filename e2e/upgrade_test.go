package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

// generations is a daemon that upgrades. Its log is that of all of its processes.
type generations struct {
	*daemon
	pid int // of the process that accepts
}

// generationsOf follows the upgrades of a daemon. All its processes are killed at the end of the test.
func generationsOf(t *testing.T, d *daemon) *generations {
	t.Helper()
	t.Cleanup(func() {
		for _, l := range d.logged(func(l line) bool { return l.Msg == "started" }) {
			if pid, ok := l.field["pid"].(float64); ok {
				_ = unix.Kill(int(pid), unix.SIGKILL)
			}
		}
	})
	return &generations{d, d.cmd.Process.Pid}
}

// awaitSince is the first line with the message among those after the first n.
func (g *generations) awaitSince(n int, msg string) (found line) {
	g.t.Helper()
	eventually(g.t, "it logs "+msg, func() bool {
		lines := g.logged(anything)
		i := slices.IndexFunc(lines[n:], func(l line) bool { return l.Msg == msg })
		if i >= 0 {
			found = lines[n+i]
		}
		return i >= 0
	})
	return found
}

// upgrade replaces the process that accepts, and waits until the old one has stopped.
func (g *generations) upgrade() {
	g.t.Helper()
	old := g.replace()
	eventually(g.t, "the old process accepts no connection", func() bool { return !listens(old, g.addr) })
}

// replace replaces the process, and returns the old one as soon as the new one accepts connections.
func (g *generations) replace() (old int) {
	g.t.Helper()
	n, old := len(g.logged(anything)), g.pid
	if err := unix.Kill(g.pid, unix.SIGUSR2); err != nil {
		g.t.Fatal(err)
	}
	l := g.awaitSince(n, "upgraded: the new process accepts connections")
	pid, _ := l.field["successor"].(float64)
	if g.pid = int(pid); g.pid == 0 {
		g.t.Fatal(l.raw)
	}
	return old
}

// listens reports whether a process has a socket that listens at an address, host:port.
func listens(pid int, addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	n, _ := strconv.Atoi(port)
	tables, _ := filepath.Glob(fmt.Sprintf("/proc/%d/net/tcp*", pid)) // of its network namespace
	var inodes []string
	for _, table := range tables {
		text, _ := os.ReadFile(table)
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) > 9 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", n)) && f[3] == "0A" { // TCP_LISTEN
				inodes = append(inodes, "socket:["+f[9]+"]")
			}
		}
	}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return slices.ContainsFunc(fds, func(fd string) bool {
		to, _ := os.Readlink(fd)
		return slices.Contains(inodes, to)
	})
}

// end drains the process that accepts.
func (g *generations) end() {
	g.t.Helper()
	if err := unix.Kill(g.pid, unix.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
	g.awaitGone(g.pid)
}

func (g *generations) awaitGone(pid int) {
	g.t.Helper()
	eventually(g.t, fmt.Sprintf("process %d has ended", pid), func() bool { return hasEnded(pid) })
}

// hasEnded reports whether a process has ended.
func hasEnded(pid int) bool {
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) || strings.Contains(string(state), ") Z ")
}

// load makes connections until it is stopped, each with some messages and their answers.
type load struct {
	stop        chan struct{}
	all         sync.WaitGroup
	connections atomic.Int64
	errs        chan error
}

func startLoad(addr string, clients int) *load {
	l := &load{stop: make(chan struct{}), errs: make(chan error, clients)}
	for i := range clients {
		l.all.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				default:
				}
				if err := l.once(addr, byte(i)); err != nil {
					l.errs <- err
					return
				}
			}
		})
	}
	return l
}

func (l *load) once(addr string, fill byte) error {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return fmt.Errorf("connection %d: %w", l.connections.Load(), err)
	}
	defer c.Close()
	l.connections.Add(1)
	if err := pingPong(c, fill, 3); err != nil {
		return fmt.Errorf("connection %d: %w", l.connections.Load(), err)
	}
	return nil
}

// end stops the load, and reports its errors.
func (l *load) end(t *testing.T) {
	t.Helper()
	close(l.stop)
	l.all.Wait()
	close(l.errs)
	for err := range l.errs {
		t.Error(err)
	}
}

// A load balancer that asks /readyz sees no upgrade: each new connection is answered, and with ready.
func TestUpgradeStaysReady(t *testing.T) {
	const upgrades, askers = 5, 4
	d := startFile(t, writeConfig(t, `ring: epoll
loops: 1
metrics: 127.0.0.1:0
listeners:
  - {name: l, address: "tcp://127.0.0.1:0", backend: b}
backends:
  - {name: b, servers: ["tcp://127.0.0.1:1"]}
`))
	g := generationsOf(t, d)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	var answers atomic.Int64
	for range askers {
		all.Go(func() {
			for ctx.Err() == nil {
				if code, text, err := askOnce(d.metrics, "/readyz"); err != nil || code != 200 || text != "ready\n" {
					t.Errorf("after %d answers: %d %q, %v", answers.Load(), code, text, err)
					return
				}
				answers.Add(1)
			}
		})
	}
	for range upgrades {
		old, before := g.pid, answers.Load()
		g.upgrade()
		g.awaitGone(old)
		eventually(t, "the new process answers", func() bool { return t.Failed() || answers.Load() > before+10*askers })
	}
	stop()
	all.Wait()
	g.end()
}

// askOnce asks on a connection of its own.
func askOnce(address, path string) (code int, text string, err error) {
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + address + path)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

// Upgrades lose nothing: connections that are open continue, and new ones are neither refused nor reset.
func TestUpgradeUnderLoad(t *testing.T) {
	const upgrades = 5
	onEachRing(t, func(t *testing.T, ring string) {
		g := generationsOf(t, startProxy(t, ring, []string{serve(t, echo)}, "--drain-timeout", "1m", "--loops", "2"))
		load := startLoad(g.addr, 4)
		var long []peer
		pids := []int{g.pid}
		for i := range upgrades {
			c := dial(t, g.addr)
			c.send([]byte("before"))
			c.expect([]byte("before"))
			long = append(long, c)
			before := load.connections.Load()
			g.upgrade()
			pids = append(pids, g.pid)
			eventually(t, "connections are made", func() bool {
				return load.connections.Load() > before+50 || len(load.errs) > 0
			})
			if status, _ := g.get("/readyz"); status != http.StatusOK {
				t.Errorf("/readyz after upgrade %d: status %d", i, status)
			}
		}
		for _, c := range long { // each with a process of its own
			c.send(bulk[:100_000])
			c.expect(bulk[:100_000])
			c.finish()
			c.expectEOF()
		}
		for _, pid := range pids[:upgrades] {
			g.awaitGone(pid)
		}
		load.end(t)
		t.Logf("%d connections during %d upgrades", load.connections.Load(), upgrades)
		g.end()
		if strings.Contains(g.text(), `"level":"error"`) {
			t.Error("an error is logged")
		}
	})
}

// configured is a daemon with a file that can be changed, and its own copy of the program.
func configured(t *testing.T, text string) (g *generations, config, program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "reactord")
	copyFile(t, reactord, program)
	config = writeConfig(t, text)
	d := spawnProgram(t, program, "serve", "--config", config)
	d.addr = d.await("listening").str("address")
	return generationsOf(t, d), config, program
}

// copyFile makes a copy of an executable file, in one step.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	installFile(t, to, data)
}

// installFile replaces an executable file, as an installation does.
func installFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path+".new", data, 0o755), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

// spawnProgram starts another file than the usual one.
func spawnProgram(t *testing.T, program string, args ...string) *daemon {
	t.Helper()
	return spawn(t, []string{"sh", "-c", `p=$0; shift; exec "$p" "$@"`, program}, nil, args...)
}

const upgradeConfig = `
ring: %s
loops: %d
listeners:
  - {name: a, address: 'tcp://%s', backend: b}
backends:
  - {name: b, servers: ['tcp://%s']}
`

// A successor that does not serve changes nothing, and the log says why it does not.
func TestUpgradeFails(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		addr, server := testenv.Vacant(t), serve(t, echo)
		good := fmt.Sprintf(upgradeConfig, ring, 1, addr, server)
		g, config, program := configured(t, good)
		load := startLoad(g.addr, 2)
		attempt := func(reason string) {
			t.Helper()
			n := len(g.logged(anything))
			if err := unix.Kill(g.pid, unix.SIGUSR2); err != nil {
				t.Fatal(err)
			}
			l := g.awaitSince(n, "upgrade failed: this process serves as before")
			if !strings.Contains(l.raw, reason) {
				t.Errorf("%s\ndoes not say %s", l.raw, reason)
			}
			before := load.connections.Load()
			eventually(t, "connections are made", func() bool {
				return load.connections.Load() > before+10 || len(load.errs) > 0
			})
		}
		writeFile(t, config, "listeners: 7")
		attempt(config + ":1:12")
		writeFile(t, config, good)
		installFile(t, program, []byte("#!/bin/sh\nexit 7\n"))
		attempt("it exited before it served; see its log (exit status 7)")
		if err := os.Remove(program); err != nil {
			t.Fatal(err)
		}
		attempt("no such file or directory")
		installFile(t, program, []byte("this is no program"))
		attempt("exec format error")
		copyFile(t, reactord, program)
		g.upgrade()
		load.end(t)
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", g.pid)); err != nil || exe != program {
			t.Errorf("it runs %s (%v), not %s", exe, err, program)
		}
		g.end()
	})
}

// A successor that does nothing is killed when the process is told to end.
func TestUpgradeHangs(t *testing.T) {
	g, _, program := configured(t, fmt.Sprintf(upgradeConfig, "epoll", 1, testenv.Vacant(t), serve(t, echo)))
	note := filepath.Join(t.TempDir(), "pid")
	installFile(t, program, []byte("#!/bin/sh\necho $$ >"+note+"\nexec sleep 60\n"))
	g.signal(syscall.SIGUSR2)
	var pid int
	eventually(t, "the successor runs", func() bool {
		text, _ := os.ReadFile(note)
		_, err := fmt.Sscan(string(text), &pid)
		return err == nil
	})
	c := dial(t, g.addr)
	c.send([]byte("x"))
	c.expect([]byte("x"))
	c.finish()
	c.expectEOF()
	g.stop()
	g.awaitGone(pid)
}

// An upgrade by the admin API may take longer than other requests: a successor may read a large file.
func TestUpgradeByAdminIsPatient(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute")
	}
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "a")
	text := fmt.Sprintf(upgradeConfig, "epoll", 1, testenv.Vacant(t), serve(t, echo)) +
		"admin: {address: 'unix://" + socket + "'}\n"
	g, _, program := configured(t, text)
	installFile(t, program, []byte("#!/bin/sh\nsleep 31\nexec "+reactord+" \"$@\"\n"))
	n := len(g.logged(anything))
	r := run(t, "ctl", "--address", "unix://"+socket, "upgrade")
	if r.code != 0 || !strings.Contains(r.stdout, "has taken over") {
		t.Errorf("ctl upgrade: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	pid, _ := g.awaitSince(n, "upgraded: the new process accepts connections").field["successor"].(float64)
	g.pid = int(pid)
	g.end()
}

// The successor takes what its configuration has: more loops or fewer, and other listeners.
func TestUpgradeChanges(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		addr, server := testenv.Vacant(t), serve(t, echo)
		g, config, _ := configured(t, fmt.Sprintf(upgradeConfig, ring, 1, addr, server))
		load := startLoad(addr, 3)
		for _, loops := range []int{4, 1, 2} {
			other := testenv.Vacant(t)
			text := fmt.Sprintf(upgradeConfig, ring, loops, addr, server)
			text = strings.Replace(text, "backends:", fmt.Sprintf(
				"  - {name: other, address: 'tcp://%s', backend: b}\nbackends:", other), 1)
			writeFile(t, config, text)
			g.upgrade()
			c := dial(t, other)
			c.send([]byte("x"))
			c.expect([]byte("x"))
			c.Close()
			before := load.connections.Load()
			eventually(t, "connections are made", func() bool {
				return load.connections.Load() > before+50 || len(load.errs) > 0
			})
			g.end2(t, config, fmt.Sprintf(upgradeConfig, ring, loops, addr, server), other)
		}
		load.end(t)
		g.end()
	})
}

// end2 removes the other listener with a further upgrade.
func (g *generations) end2(t *testing.T, config, text, other string) {
	t.Helper()
	writeFile(t, config, text)
	g.upgrade()
	eventually(t, "the listener is gone", func() bool { return refused(other) })
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

// The admin API upgrades, and is the successor's afterwards, at the same socket or another one.
func TestUpgradeByAdmin(t *testing.T) {
	dir := t.TempDir()
	server := serve(t, echo)
	text := fmt.Sprintf(upgradeConfig, "auto", 1, testenv.Vacant(t), server) +
		"admin: {address: 'unix://" + dir + "/%s'}\n"
	g, config, _ := configured(t, fmt.Sprintf(text, "a"))
	ctl := func(socket, command string, code int) string {
		t.Helper()
		r := run(t, "ctl", "--address", "unix://"+filepath.Join(dir, socket), command)
		if r.code != code {
			t.Fatalf("ctl %s: exit code %d\n%s%s", command, r.code, r.stdout, r.stderr)
		}
		return r.stdout + r.stderr
	}
	upgrade := func(socket string) {
		t.Helper()
		n := len(g.logged(anything))
		ctl(socket, "upgrade", 0)
		pid, _ := g.awaitSince(n, "upgraded: the new process accepts connections").field["successor"].(float64)
		g.pid = int(pid)
	}
	if r := run(t, "ctl", "--address", "unix://"+filepath.Join(dir, "a"),
		"server", "set", "b", server, "--state", "drain", "--weight", "7"); r.code != 0 {
		t.Fatal(r.stdout, r.stderr)
	}
	for range 3 {
		old := g.pid
		upgrade("a")
		g.awaitGone(old)
		if plan := ctl("a", "plan", 0); !regexp.MustCompile(`drain +7 `).MatchString(plan) {
			t.Errorf("the override is lost:\n%s", plan)
		}
		if status := ctl("a", "status", 0); !strings.Contains(status, fmt.Sprint(g.pid)) {
			t.Errorf("the status is not that of process %d:\n%s", g.pid, status)
		}
	}
	writeFile(t, config, "listeners: 7")
	if out := ctl("a", "upgrade", 1); !strings.Contains(out, config+":1:12") {
		t.Errorf("the reason is not told: %s", out)
	}
	ctl("a", "status", 0)
	writeFile(t, config, fmt.Sprintf(text, "b"))
	upgrade("a")
	ctl("b", "status", 0)
	if _, err := os.Lstat(filepath.Join(dir, "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old socket is still there: %v", err)
	}
	g.end()
	if left, _ := filepath.Glob(dir + "/*"); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// The service manager learns of the new main process before that process speaks, and connections move to it.
func TestUpgradeNotifies(t *testing.T) {
	m := newManager(t)
	argv := []string{"proxy", "--listen", "tcp://127.0.0.1:0", "--to", "tcp://" + serve(t, echo)}
	g := generationsOf(t, spawn(t, nil, []string{"NOTIFY_SOCKET=" + m.path, "WATCHDOG_USEC=300000"}, argv...))
	m.await(g.pid, "READY=1")
	m.await(g.pid, "WATCHDOG=1")
	g.addr = g.await("listening").str("address")
	c := dial(t, g.addr)
	c.send([]byte("before"))
	c.expect([]byte("before"))
	old := g.pid
	g.upgrade()
	m.await(old, fmt.Sprintf("MAINPID=%d", g.pid))
	m.await(g.pid, "READY=1")
	g.awaitGone(old)
	m.await(g.pid, "WATCHDOG=1")
	c.send([]byte("after"))
	c.expect([]byte("after"))
	if m.indexFrom(old, "STOPPING=1") >= 0 {
		t.Error("the old process stops the unit")
	}
	c.finish()
	c.expectEOF()
	g.end()
	m.await(g.pid, "STOPPING=1")
	if i, j := m.index(fmt.Sprintf("MAINPID=%d", g.pid)), m.indexFrom(g.pid, "READY=1"); i > j {
		t.Errorf("the new process speaks before it is the main one")
	}
}

// The service manager keeps the sockets of a process that ends. Connections that arrive meanwhile are served by the
// next one.
func TestStoredSockets(t *testing.T) {
	m := newManager(t)
	addr := testenv.Vacant(t)
	argv := []string{"proxy", "--listen", "tcp://" + addr, "--to", "tcp://" + serve(t, echo), "--loops", "2"}
	d := spawn(t, nil, []string{"NOTIFY_SOCKET=" + m.path, "FDSTORE=10"}, argv...)
	name := "FDNAME=reactord/tcp%3A//" + strings.Replace(addr, ":", "%3A", 1)
	m.await(d.pid(), name)
	m.await(d.pid(), "READY=1")
	d.stop()
	early := dial(t, addr)
	early.send([]byte("early"))
	fds := m.stored()
	if len(fds) != 2 {
		t.Fatalf("%d sockets are kept, not one for each loop", len(fds))
	}
	name = strings.TrimPrefix(name, "FDNAME=")
	// The shell moves the descriptors to where the program expects them.
	behind := []string{need(t, "bash", "bash"), "-c", fmt.Sprintf(`exec 3<&%d 4<&%d; LISTEN_PID=$$ exec "$0" "$@"`, fds[0], fds[1])}
	for _, fd := range fds {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil { // the shell inherits it
			t.Fatal(err)
		}
	}
	next := spawn(t, behind, []string{"LISTEN_FDS=2", "LISTEN_FDNAMES=" + name + ":" + name}, argv...)
	next.await("listening")
	early.expect([]byte("early"))
	early.finish()
	early.expectEOF()
	next.stop()
}

// manager is a service manager's end of NOTIFY_SOCKET.
type manager struct {
	t    *testing.T
	path string

	mu       sync.Mutex
	messages []notice
}

// notice is a line of a message, with the process that has sent it, and the descriptors that came with the message.
type notice struct {
	pid  int
	line string
	fds  []int
}

func newManager(t *testing.T) *manager {
	t.Helper()
	m := &manager{t: t, path: filepath.Join(t.TempDir(), "notify")}
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.read(c)
	}()
	t.Cleanup(func() {
		c.Close()
		<-ended
		closeAll(m.stored())
	})
	return m
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// stored are the descriptors that were sent.
func (m *manager) stored() (fds []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.messages {
		fds = append(fds, n.fds...)
	}
	return fds
}

func (m *manager) read(c *net.UnixConn) {
	text, rights := make([]byte, 4096), make([]byte, 4096)
	for {
		n, r, _, _, err := c.ReadMsgUnix(text, rights)
		if err != nil {
			return
		}
		pid, fds := 0, []int(nil)
		controls, _ := unix.ParseSocketControlMessage(rights[:r])
		for _, control := range controls {
			if cred, err := unix.ParseUnixCredentials(&control); err == nil {
				pid = int(cred.Pid)
			}
			rights, _ := unix.ParseUnixRights(&control)
			fds = append(fds, rights...)
		}
		lines := strings.Split(string(text[:n]), "\n")
		if lines[0] == "BARRIER=1" { // it is answered by closing the descriptor
			closeAll(fds)
			fds = nil
		}
		m.mu.Lock()
		for _, line := range lines {
			m.messages = append(m.messages, notice{pid, line, fds})
			fds = nil // with the first line
		}
		m.mu.Unlock()
	}
}

// await waits until a process has sent a line.
func (m *manager) await(pid int, line string) {
	m.t.Helper()
	eventually(m.t, fmt.Sprintf("process %d notifies %s", pid, line), func() bool { return m.indexFrom(pid, line) >= 0 })
}

// index is that of the first such line, or -1.
func (m *manager) index(line string) int { return m.indexFrom(0, line) }

// indexFrom is that of the first such line of a process.
func (m *manager) indexFrom(pid int, line string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.IndexFunc(m.messages, func(n notice) bool { return (n.pid == pid || pid == 0) && n.line == line })
}

// Sockets of the service manager are found by name, also after an upgrade, and whether or not a listener uses them.
func TestSocketActivation(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		activate := need(t, "systemd-socket-activate", "systemd")
		web, spare, server := testenv.Vacant(t), testenv.Vacant(t), serve(t, echo)
		text := fmt.Sprintf("ring: %s\nloops: 2\nlisteners:\n  - {name: a, address: 'fd://web', backend: b}\n"+
			"backends:\n  - {name: b, servers: ['tcp://%s']}\n", ring, server)
		config := writeConfig(t, text)
		cmd := []string{activate, "-l", web, "-l", spare, "--fdname=web:spare"}
		g := generationsOf(t, spawn(t, cmd, nil, "serve", "--config", config))
		eventually(t, "it listens", func() bool { return !refused(web) })
		g.await("started")
		exchange := func(addr string) {
			t.Helper()
			c := dial(t, addr)
			c.send([]byte("x"))
			c.expect([]byte("x"))
			c.Close()
		}
		exchange(web)
		g.upgrade()
		exchange(web)
		writeFile(t, config, strings.Replace(text, "fd://web", "fd://spare", 1))
		g.upgrade()
		exchange(spare)
		writeFile(t, config, text)
		g.upgrade()
		exchange(web)
		g.end()
	})
}
