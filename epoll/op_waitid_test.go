//go:build linux

package epoll

import (
	"os/exec"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// TestWaitid waits for what a child does: stop, continue and exit.
func TestWaitid(t *testing.T) {
	onBoth(t, func(g *rig) {
		if caps := g.Caps(); !caps.Ops.Has(uring.OpWaitid) {
			g.Skip("an older kernel")
		}
		child := exec.Command("cat")
		stdin, err := child.StdinPipe()
		g.check(err)
		g.check(child.Start())
		pid := child.Process.Pid
		got := new(childInfo)
		wait := func(options int) func(*uring.SQE) {
			return func(s *uring.SQE) { s.PrepWaitid(unix.P_PID, pid, options, unsafe.Pointer(got)) }
		}
		still := func() { // what comes of a child takes its time
			for range 5 {
				g.check(g.Enter(2 * time.Millisecond))
				if g.Pop(&g.cqe) {
					g.Fatalf("%+v", g.cqe)
				}
			}
		}
		g.do(0, wait(unix.WEXITED|unix.WNOHANG))
		if got.pid != 0 {
			g.Errorf("%+v", got)
		}
		g.fails(g.push(wait(0)), unix.EINVAL)
		for _, step := range []struct {
			signal        unix.Signal
			options, code int
			status        int32
		}{
			{unix.SIGSTOP, unix.WSTOPPED, 5, int32(unix.SIGSTOP)},
			{unix.SIGCONT, unix.WCONTINUED, 6, int32(unix.SIGCONT)},
			{unix.SIGTERM, unix.WEXITED | unix.WNOWAIT, 2, int32(unix.SIGTERM)},
		} {
			ud := g.push(wait(step.options))
			still()
			g.check(unix.Kill(pid, step.signal))
			g.want(ud, 0, 0)
			if got.pid != int32(pid) || got.code != int32(step.code) || got.status != step.status ||
				got.signo != int32(unix.SIGCHLD) {
				g.Errorf("%v: %+v", step.signal, got)
			}
		}
		g.do(0, wait(unix.WEXITED))
		g.fails(g.push(wait(unix.WEXITED)), unix.ECHILD)
		g.check(stdin.Close())
	})
}

// TestWaitidCancel: an entry that waits for a child can be cancelled.
func TestWaitidCancel(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{}))
	child := exec.Command("sleep", "1000")
	g.check(child.Start())
	defer func() {
		g.check(child.Process.Kill())
		_ = child.Wait()
	}()
	pid := child.Process.Pid
	ud := g.push(func(s *uring.SQE) { s.PrepWaitid(unix.P_PID, pid, unix.WEXITED, nil) })
	g.quiet()
	g.do(0, func(s *uring.SQE) { s.PrepCancel(ud) })
	g.fails(ud, unix.ECANCELED)
	g.quiet()
}
