package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

// As a child of TestDenied this binary is the command that the filter holds for, and it starts itself with
// the filter as well.
const (
	filterVariable = "NOIOURING_TEST_FILTER" // the errno to deny io_uring_setup with
	childVariable  = "NOIOURING_TEST_CHILD"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(filterVariable); name != "" {
		os.Unsetenv(filterVariable)
		os.Setenv(childVariable, "1")
		os.Stderr.WriteString(run(errnos[name], os.Args).Error())
		os.Exit(1)
	}
	if os.Getenv(childVariable) != "" {
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
		os.Stdout.WriteString(unix.ErrnoName(errno) + " " + os.Getenv(testenv.Variable))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestDenied(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name := range errnos {
		child := exec.Command(self)
		child.Env = append(os.Environ(), filterVariable+"="+name, testenv.Variable+"=expected")
		out, err := child.CombinedOutput()
		if got, want := string(out), name+" "+testenv.Denied; err != nil || got != want {
			t.Errorf("io_uring_setup in the command: %q, %v; want %q", got, err, want)
		}
	}
}

func TestNoSuchCommand(t *testing.T) {
	err := run(unix.EPERM, []string{"no-such-command"})
	if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "no-such-command") {
		t.Errorf("the error is %v", err)
	}
}
