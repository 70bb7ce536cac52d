package epoll

import (
	"testing"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// TestLimitedReceivesTrustTheRing: a multishot receive with a limit is armed again and again, so each time does without
// the system call that others spend on being sure of the descriptor.
func TestLimitedReceivesTrustTheRing(t *testing.T) {
	r := newEpoll(t, Config{})
	g := newRig(t, r)
	g.provide()
	a, b := g.tcp()
	for _, c := range []struct {
		limit uint32
		asks  bool
	}{{0, true}, {1, assert.Enabled}, {1, assert.Enabled}} { // with assertions all are asked for
		r.poller.event = unix.EpollEvent{}
		ud := g.push(func(s *uring.SQE) {
			s.PrepRecvMultishot(a, 0, 0)
			s.LimitRecv(c.limit)
		})
		g.quiet()
		if asked := r.poller.event != (unix.EpollEvent{}); asked != c.asks {
			t.Errorf("with a limit of %d: epoll_ctl is called: %v", c.limit, asked)
		}
		if c.limit == 0 {
			g.do(0, func(s *uring.SQE) { s.PrepCancel(ud) })
			g.fails(ud, unix.ECANCELED)
			continue
		}
		g.write(b, "x")
		g.wait2(ud)
	}
}
