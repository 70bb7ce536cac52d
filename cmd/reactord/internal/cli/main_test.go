package cli

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// asReactord makes this test binary reactord itself.
const asReactord = "TEST_AS_REACTORD"

func TestMain(m *testing.M) {
	if os.Getenv(asReactord) != "" {
		os.Exit(Main(os.Args))
	}
	goleak.VerifyTestMain(m)
}

// command returns reactord with arguments.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), asReactord+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}
