//go:build linux

package epoll

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// TestPollMultishotOnce: events that hold when a multishot poll starts are reported once, whether the descriptor is
// new to the ring, known, or has an event that the ring has not taken yet.
func TestPollMultishotOnce(t *testing.T) {
	onBoth(t, func(g *rig) {
		a, b := g.pair(unix.SOCK_STREAM)
		for range 3 {
			g.write(b, "x")
			ud := g.push(func(s *uring.SQE) { s.PrepPollMultishot(a, unix.POLLIN) })
			g.want(ud, unix.POLLIN, uring.CQEMore)
			g.quiet()
			g.write(b, "y")
			g.want(ud, unix.POLLIN, uring.CQEMore)
			g.quiet()
			g.do(0, func(s *uring.SQE) { s.PrepCancel(ud) })
			g.fails(ud, unix.ECANCELED)
		}
	})
}

func TestPoll(t *testing.T) {
	streams(t, func(g *rig, a, b int) {
		poll := func(events uint32) func(*uring.SQE) { return func(s *uring.SQE) { s.PrepPollAdd(a, events) } }
		ud := g.push(poll(unix.POLLIN))
		g.quiet()
		g.write(b, "x")
		g.want(ud, unix.POLLIN, 0)
		g.do(unix.POLLIN, poll(unix.POLLIN))
		g.do(unix.POLLOUT, poll(unix.POLLOUT))
		g.do(unix.POLLIN|unix.POLLOUT, poll(unix.POLLIN|unix.POLLOUT))
		ud = g.push(poll(unix.POLLPRI))
		g.quiet()
		g.check(unix.Shutdown(b, unix.SHUT_WR))
		g.want(ud, unix.POLLRDHUP, 0) // always of interest
		g.check(unix.Shutdown(a, unix.SHUT_RDWR))
		g.do(unix.POLLRDHUP|unix.POLLHUP, poll(0))
	})
	onBoth(t, func(g *rig) {
		a, b := g.tcp()
		ud := g.push(func(s *uring.SQE) { s.PrepPollAdd(a, unix.POLLIN) })
		g.quiet()
		g.check(unix.SetsockoptLinger(b, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}))
		g.close(b)
		g.want(ud, unix.POLLIN|unix.POLLERR|unix.POLLHUP|unix.POLLRDHUP, 0)
		file := g.file()
		g.do(unix.POLLOUT, func(s *uring.SQE) { s.PrepPollAdd(file, unix.POLLOUT) })
		g.do(unix.POLLIN, func(s *uring.SQE) { s.PrepPollMultishot(file, unix.POLLIN) })
	})
}

func TestPollMultishot(t *testing.T) {
	onBoth(t, func(g *rig) {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		g.check(err)
		g.open(fd)
		ud := g.push(func(s *uring.SQE) { s.PrepPollMultishot(fd, unix.POLLIN) })
		g.quiet()
		for range 3 { // every write is an edge, though it is never read
			g.write(fd, "\x01\x00\x00\x00\x00\x00\x00\x00")
			g.want(ud, unix.POLLIN, more)
			g.quiet()
		}
		other := g.push(func(s *uring.SQE) { s.PrepPollMultishot(fd, unix.POLLIN) })
		g.want(other, unix.POLLIN, more)
		for _, ud := range []uint64{ud, other} {
			g.do(0, func(s *uring.SQE) { s.PrepCancel(ud) })
			g.fails(ud, unix.ECANCELED)
		}
	})
}
