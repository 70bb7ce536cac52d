package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sandboxVariable makes this test binary a program that takes the filter in it, and becomes the command of its
// arguments.
const sandboxVariable = "E2E_SANDBOX"

// The unit's sandbox, as far as it can be had without systemd, is enough for the daemon: another user, no capability
// but the one for ports below 1024, a file system that is read-only but for two directories, no devices, the limits,
// and only the system calls and the address families that the unit allows. A system call that it forbids kills the
// process here, so that none is tried in vain.
func TestSandbox(t *testing.T) {
	if os.Getuid() != 0 {
		missing(t, "only root may become another user")
	}
	for _, program := range []string{"bwrap", "setpriv", "prlimit"} {
		need(t, program, map[string]string{"bwrap": "bubblewrap"}[program]+" util-linux")
	}
	onEachRing(t, func(t *testing.T, ring string) {
		files := []string{"reactord.service"}
		if ring == "epoll" {
			files = append(files, "drop-ins/epoll.conf")
		}
		u := readUnit(t, files...)
		listen, logs := fmt.Sprintf("127.%d.%d.2:80", 100+os.Getpid()>>8&63, os.Getpid()&255), t.TempDir()
		share(t, logs)
		app := listenApp(t)
		config := filepath.Join(t.TempDir(), "reactord.yaml")
		writeFile(t, config, fmt.Sprintf(`
loops: 2
pin: true
metrics: {address: 127.0.0.1:0, detail: full}
admin: {address: "unix:///run/reactord/admin.sock", group: "%d"}
access_log: {path: /var/log/reactord/access.log}
listeners:
  - {name: web, address: "%s", backend: app}
  - {name: datagrams, address: "udp://%[2]s", backend: app}
  - {name: file, address: "unix:///run/reactord/web.sock", backend: app}
  - {name: allowed, address: "unix:///run/reactord/allowed.sock", backend: allowed}
  - {name: denied, address: "unix:///run/reactord/denied.sock", backend: denied}
backends:
  - {name: app, servers: ["%s"], check: {interval: 1s}}
  - {name: allowed, servers: ["unix:///run/app/allowed"]}
  - {name: denied, servers: ["unix:///run/app/denied"], retries: 0}
`, stranger, listen, serve(t, echo)))
		share(t, config)
		d, run := spawnInSandbox(t, u, config, logs, app)
		d.addr = d.await("listening").str("address")
		d.metrics = d.await("metrics").str("address")
		g := generationsOf(t, d)
		started := g.await("started")
		if started.str("ring") != ring {
			t.Errorf("it runs on %s", started.str("ring"))
		}
		g.pid = int(started.field["pid"].(float64))
		exchange := func() {
			t.Helper()
			for _, text := range [][]byte{[]byte("x"), bulk[:100_000]} {
				c := dial(t, listen)
				c.send(text)
				c.expect(text)
				c.finish()
				c.expectEOF()
			}
		}
		exchange()
		exchangeWithApps(t, run)
		if why := g.await("no server available").str("last"); !strings.Contains(why, "permissions of the server's socket") {
			t.Errorf("the log says %q", why)
		}
		if status, body := g.get("/metrics"); status != http.StatusOK || !strings.Contains(body,
			`reactord_server_connect_failures_total{backend="denied",reason="denied",server="unix:///run/app/denied"} 1`) {
			t.Errorf("/metrics: status %d, %s", status, body)
		}
		for signal, msg := range map[syscall.Signal]string{
			syscall.SIGHUP: "reloaded", syscall.SIGUSR1: "access log reopened",
		} {
			n := len(g.logged(anything))
			if err := unix.Kill(g.pid, signal); err != nil {
				t.Fatal(err)
			}
			g.awaitSince(n, msg)
		}
		moves, old := dial(t, listen), g.pid
		moves.send(bulk[:1000])
		moves.expect(bulk[:1000])
		g.upgrade()
		exchange()
		g.awaitGone(old)
		moves.send(bulk[:1000])
		moves.expect(bulk[:1000])
		moves.finish()
		moves.expectEOF()
		eventually(t, "the access log has all", func() bool {
			text, _ := os.ReadFile(filepath.Join(logs, "access.log"))
			return strings.Count(string(text), "\n") >= 5
		})
		g.end()
		if text := g.text(); strings.Contains(text, `"level":"error"`) {
			t.Error("an error is logged")
		}
	})
}

// listenApp makes a directory with two unix sockets of servers that echo: the stranger's group may connect to the one
// that is called allowed, and nobody but root to the other.
func listenApp(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Dir(socketPath(t))
	for name, mode := range map[string]os.FileMode{"allowed": 0o660, "denied": 0o600} {
		path := filepath.Join(dir, name)
		serveUnix(t, path)
		if err := errors.Join(os.Chown(path, 0, stranger), os.Chmod(path, mode), os.Chmod(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// exchangeWithApps sends through the listeners in the directory run to the servers of listenApp.
func exchangeWithApps(t *testing.T, run string) {
	t.Helper()
	for name, want := range map[string]string{"allowed": "x", "denied": ""} {
		c, err := net.Dial("unix", filepath.Join(run, name+".sock"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte("x"))
		_ = c.(*net.UnixConn).CloseWrite()
		if got, _ := io.ReadAll(c); string(got) != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		c.Close()
	}
}

// stranger is a user that no process of this machine is. It stands for the unit's.
const stranger = 64123

// share gives a file or a directory to the stranger.
func share(t *testing.T, path string) {
	t.Helper()
	if err := os.Chown(path, stranger, stranger); err != nil {
		t.Fatal(err)
	}
}

// spawnInSandbox runs the daemon as the unit does, with a configuration, a directory for logs and one of servers.
// Programs and files are bound to where the stranger can reach them. run is the daemon's /run/reactord.
func spawnInSandbox(t *testing.T, u unit, config, logs, app string) (d *daemon, run string) {
	t.Helper()
	const program, sandbox, file = "/run/program", "/run/sandbox", "/run/reactord.yaml"
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run = filepath.Dir(socketPath(t))
	share(t, run)
	capabilities := "-all"
	for _, c := range u["CapabilityBoundingSet"] {
		capabilities += ",+" + strings.ToLower(strings.TrimPrefix(c, "CAP_"))
	}
	behind := append(u.limits(t),
		"bwrap", "--cap-add", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
		"--tmpfs", "/run", "--bind", run, "/run/reactord", "--tmpfs", "/var/log", "--bind", logs, "/var/log/reactord",
		"--ro-bind", app, "/run/app",
		"--ro-bind", reactord, program, "--ro-bind", self, sandbox, "--ro-bind", config, file,
		"setpriv", "--reuid", fmt.Sprint(stranger), "--regid", fmt.Sprint(stranger), "--clear-groups", "--no-new-privs",
		"--inh-caps", capabilities, "--ambient-caps", capabilities, "--bounding-set", capabilities,
		sandbox, program)
	return spawnCommand(t, append(behind, u.command(t, file)[1:]...), []string{u.filter(t)}), run
}

// limits is a command that sets the limits of the unit.
func (u unit) limits(t *testing.T) []string {
	t.Helper()
	limits := []string{"prlimit"}
	for name, resource := range map[string]int{"nofile": unix.RLIMIT_NOFILE, "memlock": unix.RLIMIT_MEMLOCK} {
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(u.last(t, "Limit"+strings.ToUpper(name)), "M", "000000", 1)
		n, err := strconv.ParseUint(want, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		limits = append(limits, fmt.Sprintf("--%s=%d", name, min(n, now.Max))) // the machine may not let root raise it
	}
	return limits
}

// filter is the environment variable with what the unit's SystemCallFilter= and RestrictAddressFamilies= mean.
func (u unit) filter(t *testing.T) string {
	t.Helper()
	numbers, groups := syscallNumbers(t), syscallGroups(t)
	allowed := map[string]bool{}
	var expand func(word string, f func(name string))
	expand = func(word string, f func(name string)) {
		if !strings.HasPrefix(word, "@") {
			f(word)
			return
		}
		if groups[word] == nil {
			t.Fatalf("systemd knows no group %s", word)
		}
		for _, below := range groups[word] {
			expand(below, f)
		}
	}
	var refused []string
	for _, list := range u["SystemCallFilter"] {
		list, inverted := strings.CutPrefix(list, "~")
		for word := range strings.FieldsSeq(list) {
			expand(word, func(name string) {
				allowed[name] = !inverted
				if inverted && word == "@aio" {
					refused = append(refused, name) // reactord asks, and takes epoll
				}
			})
		}
	}
	expand("@default", func(name string) { allowed[name] = true }) // it is always there
	var b strings.Builder
	for name, is := range allowed {
		if n, known := numbers[name]; is && known {
			fmt.Fprintf(&b, "%d ", n)
		}
	}
	b.WriteString("| ")
	for _, name := range refused {
		if n, known := numbers[name]; known {
			fmt.Fprintf(&b, "%d ", n)
		}
	}
	b.WriteString("| ")
	families := map[string]int{"AF_UNIX": unix.AF_UNIX, "AF_INET": unix.AF_INET, "AF_INET6": unix.AF_INET6}
	for family := range strings.FieldsSeq(u.last(t, "RestrictAddressFamilies")) {
		fmt.Fprintf(&b, "%d ", families[family])
	}
	return sandboxVariable + "=" + b.String()
}

// syscallNumbers are the numbers of system calls by their names, as the headers of Linux have them.
func syscallNumbers(t *testing.T) map[string]int {
	t.Helper()
	headers, _ := filepath.Glob("/usr/include/*/asm/unistd_64.h")
	if len(headers) == 0 || runtime.GOARCH != "amd64" {
		missing(t, "no asm/unistd_64.h; it is in Debian's package linux-libc-dev for amd64")
	}
	numbers := map[string]int{}
	for line := range strings.Lines(readFile(t, headers[0])) {
		var name string
		var n int
		if _, err := fmt.Sscanf(line, "#define __NR_%s %d", &name, &n); err == nil {
			numbers[name] = n
		}
	}
	return numbers
}

// syscallGroups are the groups of system calls that systemd knows.
func syscallGroups(t *testing.T) map[string][]string {
	t.Helper()
	groups := map[string][]string{}
	group := ""
	r := runCommand(t, need(t, "systemd-analyze", "systemd"), "syscall-filter", "--no-pager")
	for line := range strings.Lines(r.stdout) {
		word := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "@"):
			group, _, _ = strings.Cut(word, " ")
		case strings.HasPrefix(line, "    ") && !strings.HasPrefix(word, "#"):
			groups[group] = append(groups[group], word)
		}
	}
	return groups
}

// enterSandbox takes the filter, and becomes the command of the arguments. It returns only if that fails.
func enterSandbox(filter string) error {
	os.Unsetenv(sandboxVariable)
	parts := strings.Split(filter, "|")
	if len(parts) != 3 {
		return errors.New("no filter")
	}
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // seccomp_data.nr
	add := func(numbers string, action uint32) {
		for word := range strings.FieldsSeq(numbers) {
			n, _ := strconv.ParseUint(word, 10, 32)
			program = append(program,
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(n), Jf: 1},
				unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
		}
	}
	// socket(2) with another family than those.
	families := strings.Fields(parts[2])
	program = append(program,
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SOCKET, Jf: uint8(2 + 2*len(families))},
		unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16}) // the first argument
	add(parts[2], unix.SECCOMP_RET_ALLOW)
	program = append(program, unix.SockFilter{
		Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT),
	})
	add(parts[1], unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	add(parts[0], unix.SECCOMP_RET_ALLOW)
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS})
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	runtime.LockOSThread()
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return errno
	}
	return syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
}
