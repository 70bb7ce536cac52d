package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
)

// units is where the files for systemd are.
const units = "../deploy/systemd"

// unit is the settings of a unit: an empty value takes back the ones before it.
type unit map[string][]string

// readUnit reads a unit, and then its drop-ins.
func readUnit(t testing.TB, files ...string) unit {
	t.Helper()
	u := unit{}
	for _, file := range files {
		for line := range strings.Lines(readFile(t, filepath.Join(units, file))) {
			key, value, is := strings.Cut(strings.TrimSpace(line), "=")
			switch {
			case !is || strings.HasPrefix(key, "#"):
			case value == "":
				delete(u, key)
			default:
				u[key] = append(u[key], value)
			}
		}
	}
	return u
}

// last is the value of a setting that has one.
func (u unit) last(t testing.TB, key string) string {
	t.Helper()
	if len(u[key]) == 0 {
		t.Fatalf("the unit has no %s=", key)
	}
	return u[key][len(u[key])-1]
}

// command is the command line of ExecStart, with another program and another file.
func (u unit) command(t testing.TB, config string) []string {
	t.Helper()
	line := u.last(t, "ExecStart")
	const program, file = "/usr/bin/reactord", "/etc/reactord/reactord.yaml"
	if !strings.HasPrefix(line, program+" ") || !strings.HasSuffix(line, " "+file) {
		t.Fatalf("ExecStart=%s", line)
	}
	argv := strings.Fields(line)
	argv[0], argv[len(argv)-1] = reactord, config
	return argv
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// installUnits copies the units into a directory, with the drop-ins, and with the path of the binary under test.
func installUnits(t *testing.T, dropIns ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	below := filepath.Join(dir, "reactord.service.d")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"reactord.service", "reactord.socket"} {
		text := strings.ReplaceAll(readFile(t, filepath.Join(units, name)), "/usr/bin/reactord", reactord)
		writeFile(t, filepath.Join(dir, name), text)
	}
	for _, name := range dropIns {
		writeFile(t, filepath.Join(below, name), readFile(t, filepath.Join(units, "drop-ins", name)))
	}
	return dir
}

// systemd understands the units and the drop-ins, and finds little that they leave open: tenths of its points.
func TestUnits(t *testing.T) {
	analyze := need(t, "systemd-analyze", "systemd")
	for _, test := range []struct {
		dropIns  []string
		exposure int
	}{
		{nil, 16},
		{[]string{"epoll.conf"}, 16},
		{[]string{"keep-sockets.conf"}, 16},
		{[]string{"sockets.conf"}, 13},
		{[]string{"sockets.conf", "epoll.conf"}, 13},
	} {
		t.Run(strings.Join(append(test.dropIns, "units"), " "), func(t *testing.T) {
			dir := installUnits(t, test.dropIns...)
			for _, args := range [][]string{
				{"verify", "--man=no", filepath.Join(dir, "reactord.service"), filepath.Join(dir, "reactord.socket")},
				{"security", "--offline=yes", "--no-pager", fmt.Sprintf("--threshold=%d", test.exposure),
					filepath.Join(dir, "reactord.service")},
			} {
				if r := runCommand(t, append([]string{analyze}, args...)...); r.code != 0 || r.stderr != "" {
					t.Errorf("%s: exit code %d\n%s%s", args[0], r.code, r.stderr, r.stdout)
				}
			}
		})
	}
}

// The user and the directory are made as the files say.
func TestUserAndDirectory(t *testing.T) {
	if os.Getuid() != 0 {
		missing(t, "only root may make users")
	}
	root := t.TempDir()
	for _, dir := range []string{"etc", "usr/lib/sysusers.d", "usr/lib/tmpfiles.d", "var/log"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(root, "etc/group"), "adm:x:4:\n")
	writeFile(t, filepath.Join(root, "usr/lib/sysusers.d/reactord.conf"), readFile(t, units+"/reactord.sysusers"))
	writeFile(t, filepath.Join(root, "usr/lib/tmpfiles.d/reactord.conf"), readFile(t, units+"/reactord.tmpfiles"))
	for _, argv := range [][]string{
		{need(t, "systemd-sysusers", "systemd"), "--root", root, "reactord.conf"},
		{need(t, "systemd-tmpfiles", "systemd"), "--root", root, "--create", "reactord.conf"},
	} {
		if r := runCommand(t, argv...); r.code != 0 {
			t.Fatalf("%s: exit code %d\n%s%s", argv[0], r.code, r.stderr, r.stdout)
		}
	}
	if users := readFile(t, filepath.Join(root, "etc/passwd")); !strings.Contains(users, "\nreactord:x:") &&
		!strings.HasPrefix(users, "reactord:x:") {
		t.Errorf("the users are\n%s", users)
	}
	info, err := os.Stat(filepath.Join(root, "var/log/reactord"))
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode(); mode != os.ModeDir|os.ModeSetgid|0o750 || info.Sys().(*syscall.Stat_t).Gid != 4 {
		t.Errorf("the directory has the mode %v", mode)
	}
}

// The kernel takes each setting of the example, in a network namespace of its own.
func TestSysctl(t *testing.T) {
	if os.Getuid() != 0 {
		missing(t, "only root may make network namespaces")
	}
	sysctl := need(t, "sysctl", "procps")
	r := runCommand(t, need(t, "unshare", "util-linux"), "--net", sysctl, "-p", units+"/reactord.sysctl")
	if r.code != 0 || r.stderr != "" || !strings.Contains(r.stdout, "ip_local_port_range = 10240 65535") {
		t.Errorf("exit code %d\n%s%s", r.code, r.stderr, r.stdout)
	}
	for line := range strings.Lines(readFile(t, units+"/reactord.sysctl")) {
		if key, _, is := strings.Cut(line, " = "); is && !strings.HasPrefix(key, "#") && !strings.HasPrefix(key, "net.") {
			t.Errorf("%s is not one of a network namespace", key)
		}
	}
}

// logrotate moves the access log away, and the daemon writes a new one.
func TestLogrotate(t *testing.T) {
	logrotate := need(t, "logrotate", "logrotate")
	dir := t.TempDir()
	log := filepath.Join(dir, "access.log")
	config := writeConfig(t, fmt.Sprintf(upgradeConfig, "auto", 1, testenv.Vacant(t), serve(t, echo))+
		"access_log: {path: '"+log+"'}\n")
	d := spawn(t, nil, nil, "serve", "--config", config)
	d.addr = d.await("listening").str("address")
	connect := func(lines int) {
		t.Helper()
		c := dial(t, d.addr)
		c.send([]byte("x"))
		c.expect([]byte("x"))
		c.finish()
		c.expectEOF()
		eventually(t, fmt.Sprintf("%s has %d lines", log, lines), func() bool {
			text, _ := os.ReadFile(log)
			return strings.Count(string(text), "\n") == lines
		})
	}
	connect(1)
	connect(2)
	text := readFile(t, units+"/reactord.logrotate")
	for was, now := range map[string]string{
		"/var/log/reactord/":  dir + "/",
		"\tsu reactord adm\n": "",
		"systemctl kill --kill-whom=all --signal=USR1 reactord.service": fmt.Sprintf("kill -USR1 %d", d.pid()),
	} {
		if !strings.Contains(text, was) {
			t.Fatalf("no %q in the file", was)
		}
		text = strings.ReplaceAll(text, was, now)
	}
	rules, state := filepath.Join(t.TempDir(), "rules"), filepath.Join(t.TempDir(), "state")
	writeFile(t, rules, text)
	if err := os.Chmod(rules, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := runCommand(t, logrotate, "--force", "--state", state, rules); r.code != 0 || r.stderr != "" {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	eventually(t, "the file is made anew", func() bool { _, err := os.Stat(log); return err == nil })
	connect(1)
	if old := readFile(t, log+".1"); strings.Count(old, "\n") != 2 {
		t.Errorf("the old file has\n%s", old)
	}
	d.stop()
}

// The unit's reload fails if the process refuses the file, with the reason. Without an admin API it checks the file.
func TestUnitReloads(t *testing.T) {
	line := readUnit(t, "reactord.service").last(t, "ExecReload")
	for _, admin := range []bool{true, false} {
		t.Run(fmt.Sprintf("admin API %v", admin), func(t *testing.T) {
			dir := t.TempDir()
			text := func(more string) string {
				text := reloadConfig("auto", "", []string{"web=127.0.0.1:0"}, serve(t, echo)) + more
				if admin {
					text += "admin: {address: 'unix://" + dir + "/admin'}\n"
				}
				return text
			}
			config := writeConfig(t, text(""))
			d := startFile(t, config)
			reload := func() result {
				argv := strings.Fields(strings.NewReplacer("/usr/bin/reactord", reactord,
					"/etc/reactord/reactord.yaml", config, "$MAINPID", fmt.Sprint(d.pid())).Replace(line))
				return runCommand(t, argv...)
			}
			writeFile(t, config, text("drain: {timeout: 7s}\n"))
			if r := reload(); r.code != 0 {
				t.Errorf("exit code %d\n%s", r.code, r.stderr)
			}
			d.await("reloaded")
			writeFile(t, config, text("drain: {timeout: never}\n"))
			if r := reload(); r.code != 1 || !strings.Contains(r.stderr, config+":") {
				t.Errorf("a mistake: exit code %d\n%s", r.code, r.stderr)
			}
			used := strings.Replace(text(""), "127.0.0.1:0'", d.metrics+"'", 1) // check cannot see that
			writeFile(t, config, used)
			r := reload()
			if admin && (r.code != 1 || !strings.Contains(r.stderr, "address already in use")) {
				t.Errorf("a port that is taken: exit code %d\n%s", r.code, r.stderr)
			}
			if !admin {
				d.await("the reload was refused: the configuration is what it was")
			}
			d.stop()
		})
	}
}
