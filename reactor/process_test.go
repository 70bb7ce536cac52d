package reactor_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

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

func TestWaitProcess(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.Kind) {
		for name, lacks := range map[string]uring.Op{"waitid": uring.OpRecvZC, "pidfd": uring.OpWaitid} {
			t.Run(name, func(t *testing.T) {
				l, err := reactor.NewLoopOn(lacking{newRing(t, kind), lacks}, nil, reactor.LoopConfig{})
				if err != nil {
					t.Fatal(err)
				}
				waitProcess(t, runLoop(t, l))
			})
		}
	})
}

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
