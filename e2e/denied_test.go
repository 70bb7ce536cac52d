package e2e

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denyEnv names an errno. It tells a child of this process to deny itself io_uring_setup(2) with that errno, and then
// to execute its arguments. Containers deny it in this way: Docker with EPERM, Podman with ENOSYS.
const denyEnv = "E2E_DENY_IO_URING"

func TestRingDenied(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, errno := range []string{"EPERM", "ENOSYS"} {
		t.Run(errno, func(t *testing.T) {
			behind := []string{"env", denyEnv + "=" + errno, self}
			t.Run("auto falls back to epoll", func(t *testing.T) { testFallback(t, behind, errno) })
			t.Run("io_uring is strict", func(t *testing.T) { testStrict(t, behind) })
		})
	}
}

// testFallback checks that the daemon runs on epoll, and reports why, once in its log and on its metrics page.
func testFallback(t *testing.T, behind []string, errno string) {
	d := startProxyBehind(t, behind, "auto", []string{serve(t, echo)})
	client := dial(t, d.addr)
	client.send([]byte("over epoll"))
	client.expect([]byte("over epoll"))

	why := d.logged(func(l line) bool {
		return strings.Contains(l.raw, "io_uring") && strings.Contains(l.raw, "epoll")
	})
	if len(why) != 1 {
		t.Errorf("the log explains the fallback in %d lines, want 1", len(why))
	}
	backends := d.scrape().series("reactord_io_backend_info", "backend=epoll")
	if len(backends) == 0 {
		t.Fatal("no reactord_io_backend_info with backend=epoll")
	}
	for _, m := range backends {
		if reason := label(m, "reason"); !strings.Contains(strings.ToLower(reason), strings.ToLower(errno)) {
			t.Errorf("the reason is %q, want one that names %s", reason, errno)
		}
	}
	client.Close()
	d.stop()
}

// testStrict checks that --ring io_uring is strict.
func testStrict(t *testing.T, behind []string) {
	argv := append(behind, reactord, "proxy", "--ring", "io_uring",
		"--listen", "tcp://127.0.0.1:0", "--to", "tcp://127.0.0.1:9")
	r := runCommand(t, argv...)
	if r.code != 1 {
		t.Errorf("exit code %d, want 1", r.code)
	}
	if !strings.Contains(r.stderr, "io_uring") {
		t.Errorf("the error does not name io_uring: %q", r.stderr)
	}
}

// denyAndExec installs a seccomp filter that fails io_uring_setup with the errno of this name, and executes the command
// in the arguments. It does not return.
func denyAndExec(name string) {
	runtime.LockOSThread()
	errno := map[string]syscall.Errno{"EPERM": syscall.EPERM, "ENOSYS": syscall.ENOSYS}[name]
	if err := deny(unix.SYS_IO_URING_SETUP, errno); err != nil {
		fmt.Fprintln(os.Stderr, "installing the seccomp filter:", err)
		os.Exit(99)
	}
	os.Unsetenv(denyEnv)
	err := syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
	fmt.Fprintln(os.Stderr, "executing", os.Args[1], err)
	os.Exit(99)
}

// deny makes the system call fail in every thread of this process, and in what it executes. See seccomp(2).
func deny(nr uint32, errno syscall.Errno) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
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
