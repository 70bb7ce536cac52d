//go:build linux

package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

// errnos are the errors that container runtimes let a denied system call fail with.
var errnos = map[string]syscall.Errno{"EPERM": unix.EPERM, "ENOSYS": unix.ENOSYS, "EACCES": unix.EACCES}

func main() {
	errno := flag.String("errno", "EPERM", "the error of io_uring_setup: EPERM, ENOSYS or EACCES")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: noiouring [-errno ERRNO] COMMAND [ARGUMENT]...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 || errnos[*errno] == 0 {
		flag.Usage()
		os.Exit(2)
	}
	fmt.Fprintln(os.Stderr, "noiouring:", run(errnos[*errno], flag.Args()))
	os.Exit(1)
}

// run installs the filter and becomes the command. It returns only if that fails.
func run(errno syscall.Errno, argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // prctl(2) is about the calling thread
	if err := deny(unix.SYS_IO_URING_SETUP, errno); err != nil {
		return fmt.Errorf("cannot install the seccomp filter: %w", err)
	}
	environ := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, testenv.Variable+"=")
	})
	return syscall.Exec(path, argv, append(environ, testenv.Variable+"="+testenv.Denied))
}

// deny makes the system call fail in every thread of this process and in everything that it executes.
// See seccomp(2).
func deny(nr uint32, errno syscall.Errno) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	// Without it, installing a filter takes CAP_SYS_ADMIN.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if e != 0 {
		return e
	}
	return nil
}
