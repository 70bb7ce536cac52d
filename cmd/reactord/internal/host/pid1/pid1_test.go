package pid1

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/daemon/upgrade"
)

// scriptVariable has the script that this program runs as an init process does, instead of its tests; nextVariable the
// process that it names as the main one.
const scriptVariable, nextVariable = "PID1_SCRIPT", "PID1_NEXT"

func TestMain(m *testing.M) {
	if next := os.Getenv(nextVariable); next != "" {
		pid, _ := strconv.Atoi(next)
		fmt.Println("named", upgrade.MainProcess(pid))
		return
	}
	if script := os.Getenv(scriptVariable); script != "" {
		status, err := Run([]string{"/bin/sh", "-c", script})
		if err != nil {
			fmt.Println(err)
			status = 99
		}
		os.Exit(status)
	}
	os.Exit(m.Run())
}

// process is one that calls Run.
type process struct {
	*exec.Cmd
	t     *testing.T
	lines *bufio.Reader // that the script prints
}

// self returns the path of this program.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// start starts a process that runs a script by Run.
func start(t *testing.T, script string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(self(t)), t: t}
	p.Env = append(os.Environ(), scriptVariable+"="+script, "NOTIFY_SOCKET=/outside", "SELF="+self(t))
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

// line returns the next line that the script prints.
func (p *process) line() string {
	p.t.Helper()
	s, err := p.lines.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(s)
}

// status waits until Run has returned.
func (p *process) status() int {
	p.t.Helper()
	err := p.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		p.t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

// Run ends with the status of the program.
func TestStatus(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -KILL $$": 128 + 9} {
		if got := start(t, script).status(); got != want {
			t.Errorf("%s: status %d, want %d", script, got, want)
		}
	}
}

// Signals reach the program, which may go on, and is not in the process group of the process that calls Run.
func TestSignals(t *testing.T) {
	p := start(t, `for s in HUP USR1 USR2 QUIT INT; do trap "echo $s" $s; done; trap 'exit 3' TERM
		echo group $(cut -d' ' -f5 /proc/$$/stat) $$; for i in $(seq 2000); do sleep 0.01; done`)
	if f := strings.Fields(p.line()); f[1] != f[2] {
		t.Errorf("the process group of %s is %s", f[2], f[1])
	}
	for name, s := range map[string]unix.Signal{
		"HUP": unix.SIGHUP, "USR1": unix.SIGUSR1, "USR2": unix.SIGUSR2, "QUIT": unix.SIGQUIT, "INT": unix.SIGINT,
	} {
		if err := p.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if got := p.line(); got != name {
			t.Errorf("%s has come, want %s", got, name)
		}
	}
	if err := p.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := p.status(); got != 3 {
		t.Errorf("status %d", got)
	}
}

// A process that the main one names is the main one from then on, also when its parent has ended. Nobody else can name
// one.
func TestMainProcess(t *testing.T) {
	p := start(t, `(trap "exit 5" TERM; echo $NOTIFY_SOCKET; for i in $(seq 2000); do sleep 0.01; done) &
		`+nextVariable+`=$! exec "$SELF"`)
	said := []string{p.line(), p.line()} // in any order
	slices.Sort(said)
	name := said[0]
	if said[1] != "named <nil>" {
		t.Fatal(said)
	}
	s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(s)
	text := fmt.Sprintf("MAINPID=%d", os.Getpid())
	if err := unix.Sendto(s, []byte(text), 0, &unix.SockaddrUnix{Name: name}); err != nil {
		t.Fatal(err)
	}
	if err := p.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := p.status(); got != 5 {
		t.Errorf("status %d", got)
	}
}
