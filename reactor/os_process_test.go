//go:build linux

package reactor_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/uring"
)

// child starts a shell that waits for a line and then does what script says.
func child(t *testing.T, script string) (pid int, line *os.File) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", "read x; "+script)
	cmd.Stdin = in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	pid = cmd.Process.Pid
	if err := cmd.Process.Release(); err != nil { // or the collector closes its descriptor, in another test
		t.Fatal(err)
	}
	return pid, out
}

// eachWait runs f on each ring, in both of the ways in which a process is waited for.
func eachWait(t *testing.T, f func(t *testing.T, r *running)) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for name, lacks := range map[string]uring.Op{"waitid": uring.Op(255), "pidfd": uring.OpWaitid} {
			t.Run(name, func(t *testing.T) {
				l, err := reactor.NewLoopOn(lacking{newRing(t, kind), lacks}, nil, reactor.LoopConfig{})
				if err != nil {
					t.Fatal(err)
				}
				f(t, runLoop(t, l))
			})
		}
	})
}

func TestWaitProcess(t *testing.T) { eachWait(t, waitProcess) }

func waitProcess(t *testing.T, r *running) {
	other, otherLine := child(t, "exit 0")
	otherLine.Close()
	op := new(reactor.WaitProcessOp)
	for script, good := range map[string]func(syscall.WaitStatus) bool{
		"exit 0":     func(s syscall.WaitStatus) bool { return s.Exited() && s.ExitStatus() == 0 },
		"exit 42":    func(s syscall.WaitStatus) bool { return s.Exited() && s.ExitStatus() == 42 },
		"kill -9 $$": func(s syscall.WaitStatus) bool { return s.Signaled() && s.Signal() == syscall.SIGKILL },
	} {
		pid, line := child(t, script)
		source := new(stop.Source)
		res := begin[syscall.WaitStatus](r, r.WaitProcess(pid), op, source)
		res.none(t)
		source.RequestStop()
		res.expect(t, "stopped")
		status := make(chan syscall.WaitStatus, 1)
		r.do(func() {
			r.WaitProcess(pid).Connect(op, &sink[syscall.WaitStatus]{t: t, value: func(s syscall.WaitStatus) { status <- s }})
			op.Start()
		})
		r.settle()
		if _, err := line.WriteString("go\n"); err != nil {
			t.Error(err)
		}
		line.Close()
		if s := <-status; !good(s) {
			t.Errorf("%s: status %#x", script, s)
		}
		if o := finish[syscall.WaitStatus](r, r.WaitProcess(pid), op); !errors.Is(o.err, syscall.ECHILD) {
			t.Errorf("to wait again completed with %v", o)
		}
	}
	if o := finish[syscall.WaitStatus](r, r.WaitProcess(os.Getpid()), op); !errors.Is(o.err, syscall.ECHILD) {
		t.Errorf("to wait for no child completed with %v", o)
	}
	// It is still there, whatever was waited for before.
	if s := must[syscall.WaitStatus](r, r.WaitProcess(other), op); s != 0 {
		t.Errorf("the other child: status %#x", s)
	}
	r.end()
}

// A child that has ended is its tracer's before it is its parent's. Until then it is waited for, without haste.
func TestWaitTracedProcess(t *testing.T) {
	eachWait(t, func(t *testing.T, r *running) {
		pid, line := child(t, "exit 42")
		letGo := trace(t, pid)
		op, status := new(reactor.WaitProcessOp), newResult()
		source := new(stop.Source)
		start := func(source *stop.Source) {
			in := sinkOf[syscall.WaitStatus](t, status, source)
			in.value = func(s syscall.WaitStatus) { status <- strconv.Itoa(s.ExitStatus()) }
			r.do(func() {
				r.WaitProcess(pid).Connect(op, in)
				op.Start()
			})
		}
		start(source)
		line.Close()
		ended(t, pid)
		before := r.Stats().Enters
		time.Sleep(100 * time.Millisecond)
		if n := r.Stats().Enters - before; n > 60 {
			t.Errorf("entered the ring %d times", n)
		}
		status.none(t)
		source.RequestStop()
		status.expect(t, "stopped")
		start(nil)
		r.settle()
		status.none(t)
		letGo()
		status.expect(t, "42")
		r.end()
	})
}

// ended waits for the process to be a zombie.
func ended(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if testenv.Poll(t, fd, unix.POLLIN, patience) == 0 {
		t.Fatal("the child does not end")
	}
}

// tracee names the process that TestTracerRole traces.
const tracee = "REACTOR_TEST_TRACEE"

// trace has the process traced by another one until letGo.
func trace(t *testing.T, pid int) (letGo func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestTracerRole$")
	cmd.Env = append(os.Environ(), tracee+"="+strconv.Itoa(pid))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if said != "traces\n" {
		in.Close()
		_ = cmd.Wait()
		t.Skipf("a process cannot be traced here: %s", said)
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// TestTracerRole is the tracer, and ends with its input.
func TestTracerRole(t *testing.T) {
	pid, err := strconv.Atoi(os.Getenv(tracee))
	if err != nil {
		t.Skip("plays a part in TestWaitTracedProcess")
	}
	runtime.LockOSThread() // the tracer is a thread, and ends with the goroutine
	if err := unix.PtraceSeize(pid); err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		return
	}
	os.Stdout.WriteString("traces\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
}
