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
			g.do(0, func(s *uring.SQE) { s.PrepCancel(ud) })
			g.fails(ud, unix.ECANCELED)
		}
	})
}
