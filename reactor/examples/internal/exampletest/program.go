package exampletest

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
)

// Deadline bounds everything that a test waits for.
const Deadline = 30 * time.Second

// programVariable is the environment variable that makes the test binary the program.
const programVariable = "REACTORD_EXAMPLE"

// Main does the work of a TestMain. main is the main function of the program.
func Main(m *testing.M, main func()) {
	if os.Getenv(programVariable) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// OnRings runs f with either ring. A ring that the machine does not have is skipped.
func OnRings(t *testing.T, f func(t *testing.T, ring string)) {
	t.Helper()
	for _, ring := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		t.Run(string(ring), func(t *testing.T) {
			_, err := reactor.ChooseRing(ring)
			testenv.NeedIOUring(t, err)
			f(t, string(ring))
		})
	}
}

// Program is an example's program that runs as a process.
type Program struct {
	Addr string // where it listens, on the loopback interface

	cmd    *exec.Cmd
	output output
	ended  chan struct{} // closed when the process has ended
	err    error         // how it ended, once ended is closed

	terminate sync.Once
}

// Start starts the program with -listen and args, and waits until it accepts connections. When the test ends, the
// program is stopped by SIGTERM, and fails the test unless it then ends by itself, with exit code 0.
func Start(t *testing.T, args ...string) *Program {
	t.Helper()
	p := StartPacket(t, args...)
	p.awaitListener(t)
	return p
}

// StartPacket starts, as Start does, a program that does not accept connections. It does not wait.
func StartPacket(t *testing.T, args ...string) *Program {
	t.Helper()
	addr := testenv.Vacant(t)
	return start(t, addr, os.Args[0], append([]string{"-listen", addr}, args...)...)
}

// StartLimited starts, as Start does, a program that may have that many descriptors: see getrlimit(2), RLIMIT_NOFILE.
func StartLimited(t *testing.T, descriptors int, args ...string) *Program {
	t.Helper()
	addr := testenv.Vacant(t)
	limit := fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, descriptors)
	p := start(t, addr, "sh", append([]string{"-c", limit, os.Args[0], "-listen", addr}, args...)...)
	p.awaitListener(t)
	return p
}

// Run runs the program to its end, and returns what it has printed and how it has ended.
func Run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	p := start(t, "", os.Args[0], args...)
	select {
	case <-p.ended:
	case <-time.After(Deadline):
		t.Errorf("the program does not end")
	}
	p.stop()
	return p.output.String(), p.err
}

func start(t *testing.T, addr, name string, args ...string) *Program {
	t.Helper()
	p := &Program{Addr: addr, cmd: exec.Command(name, args...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), programVariable+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.stop()
		if p.err != nil && addr != "" {
			t.Errorf("the program ended with %v", p.err)
		}
		if t.Failed() {
			t.Logf("the program has printed:\n%s", p.output.String())
		}
	})
	return p
}

// stop asks the program to end, and kills it if it does not.
func (p *Program) stop() {
	p.Terminate()
	select {
	case <-p.ended:
	case <-time.After(Deadline):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // prints the stacks
		select {
		case <-p.ended:
		case <-time.After(Deadline):
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
	}
}

// Terminate asks the program to end by SIGTERM, once, and does not wait.
func (p *Program) Terminate() {
	p.terminate.Do(func() { _ = p.cmd.Process.Signal(syscall.SIGTERM) })
}

// Output returns what the program has printed so far.
func (p *Program) Output() string { return p.output.String() }

// Descriptors returns how many descriptors the program has open.
func (p *Program) Descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// awaitListener waits until the program accepts connections.
func (p *Program) awaitListener(t *testing.T) {
	t.Helper()
	Eventually(t, "the program accepts connections", func() bool {
		select {
		case <-p.ended:
			t.Fatalf("the program ended with %v", p.err)
		default:
		}
		c, err := net.Dial("tcp", p.Addr)
		if err != nil {
			return false
		}
		c.Close()
		return p.listeners() >= p.loops()
	})
}

// loops returns how many loops the program has. Each has its own listener: while one of them is still being opened, the
// kernel may reset a connection that is being made (SO_REUSEPORT).
func (p *Program) loops() int {
	n := 1
	if at := slices.Index(p.cmd.Args, "-loops"); at >= 0 {
		_, _ = fmt.Sscan(p.cmd.Args[at+1], &n)
	}
	return n
}

// listeners returns how many sockets listen on the program's port: see proc(5), /proc/net/tcp.
func (p *Program) listeners() int {
	port := netip.MustParseAddrPort(p.Addr).Port()
	table, _ := os.ReadFile("/proc/net/tcp")
	return strings.Count(string(table), fmt.Sprintf(":%04X 00000000:0000 0A ", port))
}

// Eventually waits until cond holds, and fails the test if it does not.
func Eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(Deadline); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// Client runs a client program, and returns what it has printed. The test fails if the client does, and is skipped if
// the client is not installed, except with CI=true.
func Client(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := ClientErr(t, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// ClientErr runs, as Client does, a client that may fail.
func ClientErr(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	Need(t, name)
	ctx, cancel := deadlineContext(t)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	return string(out), err
}

// Need skips the test if a program is not installed. With CI=true the test fails.
func Need(t *testing.T, name string) {
	t.Helper()
	_, err := exec.LookPath(name)
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("the test needs %s: %v", name, err)
	default:
		t.Skipf("the test needs %s: %v", name, err)
	}
}

// output is a buffer that a process writes and the test reads.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
