package epoll

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// TestPollMultishotOnce: what holds when a multishot poll starts is reported once, be the descriptor new to the
// ring or not, or have news that nobody has taken.
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
			g.do(0, func(s *uring.SQE) { s.PrepPollRemove(ud) })
			g.fails(ud, unix.ECANCELED)
		}
	})
}

func TestPollUpdate(t *testing.T) {
	onBoth(t, func(g *rig) {
		a, b := g.pair(unix.SOCK_STREAM)
		ud := g.push(func(s *uring.SQE) { s.PrepPollAdd(a, unix.POLLIN) })
		g.quiet()
		const renamed = 1 << 30
		g.do(0, func(s *uring.SQE) { s.PrepPollUpdate(ud, renamed, 0, uring.PollUpdateUserData) })
		g.fails(g.push(func(s *uring.SQE) { s.PrepPollRemove(ud) }), unix.ENOENT)
		g.write(b, "x")
		g.want(renamed, unix.POLLIN, 0)

		ud = g.push(func(s *uring.SQE) { s.PrepPollAdd(a, unix.POLLPRI) })
		g.quiet()
		update := g.push(func(s *uring.SQE) { s.PrepPollUpdate(ud, 0, unix.POLLOUT, uring.PollUpdateEvents) })
		first, second := g.wait(), g.wait()
		if first.UserData == update {
			first, second = second, first
		}
		if first.UserData != ud || first.Res != unix.POLLOUT || second.UserData != update || second.Res != 0 {
			g.Errorf("%+v, %+v", first, second)
		}
		recv := g.push(recvTo(a, g.bytes(8), unix.MSG_WAITALL))
		g.quiet()
		g.fails(g.push(func(s *uring.SQE) { s.PrepPollRemove(recv) }), unix.ENOENT)
	})
}
