package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

// upgraded is the JSON of ctl upgrade.
type upgraded struct {
	PID, Replaced int
	Moved         int
	Stay          []struct {
		Reason string
		Count  int
	}
	Processes []struct{ PID, Connections int }
	Note      string
}

// ctlUpgrade runs ctl upgrade, which must succeed, and follows the daemon to the new process.
func (g *generations) ctlUpgrade(dir string, args ...string) string {
	g.t.Helper()
	n := len(g.logged(anything))
	r := run(g.t, append([]string{"ctl", "--address", "unix://" + dir + "/admin", "upgrade"}, args...)...)
	if r.code != 0 || r.stderr != "" {
		g.t.Fatalf("exit code %d, %s%s", r.code, r.stdout, r.stderr)
	}
	g.follow(n)
	return r.stdout
}

// follow notes the new process of an upgrade that was logged after the first n lines.
func (g *generations) follow(n int) {
	g.t.Helper()
	pid, _ := g.awaitSince(n, "upgraded: the new process accepts connections").field["successor"].(float64)
	g.pid = int(pid)
}

// ctl upgrade says what has moved and what stays, on a pipe, as JSON and on a terminal, also if old processes of
// earlier upgrades still have connections. With --wait 0 it ends when the new process serves.
func TestCtlUpgradeTellsWhatMoves(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		const streams = 40
		dir, secure := t.TempDir(), testenv.Vacant(t)
		text := fmt.Sprintf(handoverConfig, ring, 2, dir, testenv.Vacant(t), serve(t, echo))
		g, config, _ := configured(t, strings.Replace(text, "backends:", fmt.Sprintf(
			"  - {name: s, address: 'tcp://%s', backend: b, tls: {certificates: [{cert: '%s'}]}}\nbackends:",
			secure, newAuthority(t).issue("front", "front.test")), 1))
		var conns []net.Conn
		for range streams {
			conns = append(conns, dial(t, g.addr))
		}
		openTLS := func() {
			t.Helper()
			c, err := tls.Dial("tcp", secure, &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			conns = append(conns, c)
		}
		ping := func() {
			t.Helper()
			for i, c := range conns {
				if err := pingPong(c, byte(i), 1); err != nil {
					t.Errorf("connection %d: %v", i, err)
				}
			}
		}
		matches := func(got, want string) {
			t.Helper()
			if !regexp.MustCompile("(?s)^" + want + "$").MatchString(got) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		}
		openTLS()
		ping()
		first := g.pid
		matches(g.ctlUpgrade(dir), fmt.Sprintf(`process \d+ has taken over from %d in [^\n]+
(\d+ moved, \d+ left
)*
moved  %d
stay    1  tls      TLS ends in the old process: they stay until they end; of TLS 1\.3, those move whose handshake came after tls\.handover was set

process %[1]d drains in 59m\d\ds \(upgrade.timeout\); to end it now: reactord ctl close --pid %[1]d
`, first, streams))
		ping()

		openTLS()
		ping()
		second := g.pid
		var r upgraded
		if text := g.ctlUpgrade(dir, "--json"); json.Unmarshal([]byte(text), &r) != nil || strings.Count(text, "\n") != 1 {
			t.Errorf("the JSON is %q", text)
		}
		if r.PID != g.pid || r.Replaced != second || r.Moved != streams || r.Note != "" || len(r.Stay) != 1 ||
			r.Stay[0].Reason != "tls" || r.Stay[0].Count != 2 ||
			len(r.Processes) != 2 || r.Processes[0].PID != second || r.Processes[1].PID != first {
			t.Errorf("the JSON has %+v", r)
		}
		ping()

		third, n := g.pid, len(g.logged(anything))
		said := onTerminal(t, reactord, "ctl", "--address", "unix://"+dir+"/admin", "upgrade")
		g.follow(n)
		matches(strings.ReplaceAll(said, "\r\n", "\n"), fmt.Sprintf(`process \d+ has taken over from %d in [^\n]+
(\r\[[#.]{30}\] \d+ moved, \d+ left, [0-9.]+m?s *)+\r +\r
moved  %d
stay    2  tls      [^\n]+

process %[1]d has ended
process %[3]d drains [^\n]+
process %[4]d drains [^\n]+
`, third, streams, second, first))
		ping()

		matches(g.ctlUpgrade(dir, "--wait", "0"), `process \d+ has taken over\n`)
		ping()
		writeFile(t, config, readFile(t, config)+"upgrade: {move_connections: false}\n")
		last := g.pid
		eventually(t, "all have moved", func() bool {
			var s struct{ Handover struct{ Taken int } }
			r := run(t, "ctl", "--address", "unix://"+dir+"/admin", "status", "--json")
			return json.Unmarshal([]byte(r.stdout), &s) == nil && s.Handover.Taken == streams
		})
		_ = conns[0].Close()
		_ = conns[streams].Close()
		matches(g.ctlUpgrade(dir), fmt.Sprintf(`process \d+ has taken over from %d in [^\n]+

moved   0
stay    1  tls      [^\n]+
       %[3]d  kept     [^\n]+

process %[1]d drains [^\n]+
process %[2]d drains [^\n]+
`, last, second, streams-1))
		conns = slices.Concat(conns[1:streams], conns[streams+1:])
		ping()
		if lines := g.logged(func(l line) bool { return l.Level == "warn" }); len(lines) != 0 {
			t.Errorf("a process has warned: %+v", lines)
		}
	})
}

// onTerminal runs a command on a pseudo-terminal, and returns what it prints. Its exit code must be 0.
func onTerminal(t *testing.T, argv ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		missing(t, "no pseudo-terminal: "+err.Error())
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		missing(t, "no pseudo-terminal: "+err.Error())
	}
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.Env = append(cleanEnv(), "TERM=xterm")
	err = cmd.Start()
	_ = terminal.Close()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	_, _ = io.Copy(&said, master) // until EIO: nobody has the terminal open
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	return said.String()
}

// A connection that has no server yet is awaited, until --wait or an interrupt, which leaves the upgrade alone.
func TestCtlUpgradeInterrupted(t *testing.T) {
	dir, server := t.TempDir(), serve(t, echo)
	text := fmt.Sprintf(handoverConfig, "auto", 1, dir, testenv.Vacant(t), server)
	text = strings.Replace(text, "backend: b}", "routes: [{sni: [x.test], backend: b}]}", 1)
	g, _, _ := configured(t, text)
	open := func() {
		t.Helper()
		c := dial(t, g.addr) // it sends no ClientHello
		eventually(t, "it is accepted", func() bool {
			return strings.Contains(run(t, "ctl", "--address", "unix://"+dir+"/admin", "status").stdout, "connections  1\n")
		})
		t.Cleanup(func() { _ = c.Close() })
	}
	open()
	const setup = "\nmoved  0\nstay   1  setup    they have no server yet: they move when they have one\n\nprocess "
	said := g.ctlUpgrade(dir, "--wait", "500ms")
	const late = "\nnot all have moved in 500ms; ctl status shows them\n"
	if !strings.Contains(said, setup) || !strings.HasSuffix(said, late) {
		t.Errorf("at the end of the wait it says\n%s", said)
	}

	open()
	n := len(g.logged(anything))
	cmd := exec.CommandContext(t.Context(), reactord, "ctl", "--address", "unix://"+dir+"/admin", "upgrade")
	cmd.Env = cleanEnv()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var rest []byte
	for !bytes.Contains(rest, []byte(" left\n")) && err == nil {
		var some [256]byte
		var k int
		k, err = out.Read(some[:])
		rest = append(rest, some[:k]...)
	}
	_ = cmd.Process.Signal(syscall.SIGINT)
	more, _ := io.ReadAll(out)
	err = cmd.Wait()
	said = string(rest) + string(more)
	if err != nil || !strings.Contains(said, "stay   2  setup") ||
		!strings.HasSuffix(said, "\ninterrupted: the upgrade is done, and connections still move; ctl status shows them\n") {
		t.Errorf("%v, when interrupted it says\n%s", err, said)
	}
	g.follow(n)
	c := dial(t, g.addr) // the new process serves
	_ = c.Close()
}
