package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// daemonID is the number of the user daemon, and of its group, on Debian.
const daemonID = 1

// homeOf is a directory of a user.
func homeOf(t *testing.T, uid int) string {
	t.Helper()
	home, err := os.MkdirTemp("", "reactord-user-") //nolint:usetesting // another user must be able to enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	if err := errors.Join(os.Chown(home, uid, uid), os.Chmod(home, 0o755)); err != nil { //nolint:gosec // so is a user's
		t.Fatal(err)
	}
	return home
}

// moveProgram has the test run a copy of the daemon's binary that every user can execute.
func moveProgram(t *testing.T, home string) {
	t.Helper()
	before, path := reactord, filepath.Join(home, "reactord")
	if out, err := exec.Command("cp", reactord, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	reactord = path
	t.Cleanup(func() { reactord = before })
}

// expectAccount expects all threads of a process to be of the user, and to have only one capability, and the process
// not to be dumpable.
func expectAccount(t *testing.T, pid int) {
	t.Helper()
	const bindService = "0000000000000400"
	want := map[string]string{
		"Uid": "1 1 1 1", "Gid": "1 1 1 1", "NoNewPrivs": "1",
		"CapInh": bindService, "CapPrm": bindService, "CapEff": bindService, "CapBnd": bindService, "CapAmb": bindService,
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(threads) < 4 {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if os.IsNotExist(err) { // the thread has ended
			continue
		}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(line, ":")
			value = strings.Join(strings.Fields(value), " ")
			if expected, ok := want[key]; ok && value != expected {
				t.Errorf("%s: %s %s, want %s", path, key, value, expected)
			}
			if key == "Groups" && strings.Contains(" "+value+" ", " 0 ") {
				t.Errorf("%s: the groups are %s", path, value)
			}
		}
	}
	// Other processes of its user cannot read its memory: the file is root's.
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/mem", pid), &st); err != nil || st.Uid != 0 {
		t.Errorf("/proc/%d/mem is of user %d, %v", pid, st.Uid, err)
	}
}

// A daemon that root starts becomes the user of its file, with all of its threads, and serves, reloads, upgrades, opens
// its access log anew and ends as that user.
func TestUser(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		if os.Getuid() != 0 {
			missing(t, "only root can become another user")
		}
		home := homeOf(t, daemonID)
		backend := serve(t, echo)
		file := filepath.Join(home, "reactord.yaml")
		write := func(more string) {
			text := fmt.Sprintf(`
user: daemon
ring: %s
loops: 2
metrics: 127.0.0.1:0
admin: {address: "unix://%s/admin.sock"}
access_log: {path: %s/access.log}
listeners:
  - {name: low, address: "tcp://127.77.1.1:81", backend: app}
  - {name: file, address: "unix://%s/in.sock", backend: app}
%sbackends:
  - {name: app, servers: ["tcp://%s"]}
`, ring, home, home, home, more, backend)
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // the user reads it
				t.Fatal(err)
			}
		}
		write("")
		moveProgram(t, home)
		d := spawn(t, nil, nil, "serve", "--config", file)
		g := generationsOf(t, d)
		d.await("admin")
		g.pid = d.pid()
		expectAccount(t, g.pid)
		expectEcho(t, "tcp", "127.77.1.1:81")
		expectEcho(t, "unix", home+"/in.sock")

		write("  - {name: lower, address: \"tcp://127.77.1.1:82\", backend: app}\n")
		if err := unix.Kill(g.pid, unix.SIGHUP); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the new port is served", func() bool {
			c, err := net.Dial("tcp", "127.77.1.1:82")
			if err == nil {
				c.Close()
			}
			return err == nil
		})

		g.upgrade()
		expectAccount(t, g.pid)
		expectEcho(t, "tcp", "127.77.1.1:81")
		expectEcho(t, "unix", home+"/in.sock")

		if err := os.Rename(home+"/access.log", home+"/access.log.1"); err != nil {
			t.Fatal(err)
		}
		if err := unix.Kill(g.pid, unix.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the access log is made anew", func() bool {
			var st unix.Stat_t
			return unix.Stat(home+"/access.log", &st) == nil && st.Uid == daemonID
		})
		g.end()
		for _, name := range []string{"admin.sock", "in.sock"} {
			if _, err := os.Lstat(filepath.Join(home, name)); err == nil {
				t.Errorf("%s is left", name)
			}
		}
	})
}

func expectEcho(t *testing.T, network, address string) {
	t.Helper()
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 1 {
		t.Fatal(err)
	}
}

// What the user cannot do fails at the start, with a reason.
func TestUserErrors(t *testing.T) {
	if os.Getuid() != 0 {
		missing(t, "only root can become another user")
	}
	home := homeOf(t, daemonID)
	moveProgram(t, home)
	for _, c := range []struct {
		name, settings string
		uid            uint32 // that starts it
		mode           os.FileMode
		want           string
	}{
		{"another user", "user: daemon", 2, 0o644, "only root can become user daemon"},
		{"no such user", "user: no-such-user", 0, 0o644, "no-such-user"},
		{"a number without a group", "user: \"12345\"", 0, 0o644, "write group, too"},
		{"a group without a user", "group: nogroup", 0, 0o644, "group requires user"},
		{"a file of root", "user: daemon", 0, 0o600, "user daemon may not do that"},
		{"an access log of root", "user: daemon\naccess_log: {path: /var/log/reactord-test.log}", 0, 0o644,
			"user daemon may not do that"},
		{"a socket of root", "user: daemon\nadmin: {address: \"unix:///var/log/reactord-test.sock\"}", 0, 0o644,
			"bind /var/log: permission denied: user daemon must be able to write to that directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(home, "reactord.yaml")
			text := c.settings + `
listeners: [{name: a, address: "tcp://127.0.0.1:0", backend: b}]
backends: [{name: b, servers: ["tcp://127.0.0.1:9"]}]
`
			if err := os.WriteFile(file, []byte(text), c.mode); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(file)
			cmd := exec.Command(reactord, "serve", "--config", file)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.uid, Gid: c.uid}}
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
