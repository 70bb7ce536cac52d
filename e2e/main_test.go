package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// patience bounds every wait for something that should happen immediately. It is far longer than any such wait takes.
const patience = 15 * time.Second

// reactord is the binary under test, and noiouring runs it where io_uring is denied.
var reactord, noiouring string

func TestMain(m *testing.M) {
	if filter := os.Getenv(sandboxVariable); filter != "" {
		os.Exit(fail(enterSandbox(filter)))
	}
	if server := os.Getenv(serverVariable); server != "" {
		os.Exit(fail(beServer(server)))
	}
	if os.Getenv("REACTORD_E2E") == "" {
		fmt.Println("e2e: not run; set REACTORD_E2E=1")
		return
	}
	goleak.VerifyTestMain(suite{m})
}

// suite is a testing.M that builds the binary first.
type suite struct{ *testing.M }

func (s suite) Run() int {
	dir, err := os.MkdirTemp("", "reactord-e2e-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	if reactord = os.Getenv("REACTORD_E2E_BINARY"); reactord == "" {
		reactord = filepath.Join(dir, "reactord")
		if err := build(reactord, "cmd/reactord"); err != nil {
			return fail(err)
		}
	}
	noiouring = filepath.Join(dir, "noiouring")
	if err := build(noiouring, "internal/noiouring"); err != nil {
		return fail(err)
	}
	return s.M.Run()
}

// build builds a command of this module.
func build(binary, command string) error {
	b := exec.Command("go", "build", "-o", binary, "github.com/reactord/reactord/"+command)
	b.Stderr = os.Stderr
	if err := b.Run(); err != nil {
		return fmt.Errorf("building %s: %w", command, err)
	}
	return nil
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}

// onEachRing runs f as a sub-test on each ring of the daemon.
func onEachRing(t *testing.T, f func(t *testing.T, ring string)) {
	t.Helper()
	for _, ring := range []string{"io_uring", "epoll"} {
		t.Run(ring, func(t *testing.T) {
			if only := os.Getenv("REACTORD_RING"); only != "" && only != "auto" && only != ring {
				t.Skipf("REACTORD_RING is %s", only)
			}
			if ring == "io_uring" {
				needIOURing(t)
			}
			f(t, ring)
		})
	}
}

// needIOURing skips a test if the kernel, or the container, denies io_uring.
func needIOURing(t *testing.T) {
	t.Helper()
	// A null pointer for the parameters: EFAULT if io_uring is available, EPERM or ENOSYS if not.
	_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
	if errno != unix.EFAULT {
		missing(t, fmt.Sprintf("io_uring is denied: %v", errno))
	}
}

// need returns the path of a program, or skips the test if the program is not installed.
func need(t *testing.T, program, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + program)
	}
	if err != nil {
		missing(t, fmt.Sprintf("%s is not installed; it is in Debian's package %s", program, pkg))
	}
	return path
}

// missing skips the test, or fails it in CI, where everything should be installed.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// eventually waits until cond holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	eventuallyWithin(t, patience, what, cond)
}

// eventuallyWithin is the same with another bound, for what takes its time.
func eventuallyWithin(t testing.TB, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	for start := time.Now(); !cond(); time.Sleep(time.Millisecond) {
		if time.Since(start) > limit {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}
