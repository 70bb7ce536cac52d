//go:build linux

package epoll

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

func TestAccept(t *testing.T) {
	onBoth(t, func(g *rig) {
		l, addr := g.listen()
		ud := g.push(func(s *uring.SQE) { s.PrepAccept(l, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK) })
		g.quiet()
		c := g.dial(addr)
		fd := int(g.wait2(ud).Res)
		g.open(fd)
		if n, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || n&unix.FD_CLOEXEC == 0 {
			g.Error("not close-on-exec", n, err)
		}
		if n, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || n&unix.O_NONBLOCK == 0 {
			g.Error("not non-blocking", n, err)
		}
		g.write(c, "hi")
		g.do(2, recvTo(fd, g.bytes(10), 0))

		multi := g.push(func(s *uring.SQE) { s.PrepAcceptMultishot(l, 0) })
		g.quiet()
		for range 3 {
			g.dial(addr)
			g.dial(addr)
			for range 2 {
				c := g.wait2(multi)
				if c.Res < 0 || !c.More() {
					g.Fatalf("%+v", c)
				}
				g.open(int(c.Res))
			}
		}
		g.do(0, func(s *uring.SQE) { s.PrepCancel(multi) })
		g.fails(multi, unix.ECANCELED)
		g.quiet()
		g.fails(g.push(recvTo(l, g.bytes(4), 0)), unix.ENOTCONN)
	})
}

// TestAcceptEMFILE runs out of descriptors: a multishot accept completes, and the connection stays in the backlog.
func TestAcceptEMFILE(t *testing.T) {
	onBoth(t, func(g *rig) {
		l, addr := g.listen()
		ud := g.push(func(s *uring.SQE) { s.PrepAcceptMultishot(l, 0) })
		g.quiet()
		c := g.socket()
		var old unix.Rlimit
		g.check(unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
		g.check(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: old.Max}))
		// io_uring keeps the limit of the time of submission.
		again := g.push(func(s *uring.SQE) { s.PrepAcceptMultishot(l, 0) })
		err := unix.Connect(c, addr)
		var first uring.CQE
		if err == nil {
			first = g.wait()
		}
		g.check(unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
		g.check(err)
		if _, ok := g.ring.(*Ring); ok && (first.UserData != ud || first.Res != -int32(unix.EMFILE) || first.More()) {
			g.Errorf("%+v", first)
		} else if first.Res == -int32(unix.EMFILE) {
			g.wait() // the other one has accepted it
			_ = again
		}
	})
}

// TestAcceptedIsIdle: a receive on a newly accepted connection is not tried before there is an event.
func TestAcceptedIsIdle(t *testing.T) {
	r := newEpoll(t, Config{})
	g := newRig(t, r)
	l, addr := g.listen()
	ud := g.push(func(s *uring.SQE) { s.PrepAccept(l, unix.SOCK_CLOEXEC) })
	c := g.dial(addr)
	fd := int(g.wait2(ud).Res)
	g.open(fd)
	ud = g.push(recvTo(fd, g.bytes(8), 0))
	r.submit()
	if r.files.anyReady() {
		t.Error("it is tried immediately")
	}
	g.write(c, "x")
	g.want(ud, 1, 0)
}
