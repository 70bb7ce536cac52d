//go:build linux

package epoll

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// TestSendZC: a zero-copy send has a completion with its result, and then a notification.
func TestSendZC(t *testing.T) {
	onBoth(t, func(g *rig) {
		a, b := g.tcp()
		data := pattern(g, 3000)
		h := header(g, data[:1000], data[1000:])
		for _, c := range []struct {
			prep  func(*uring.SQE)
			usage int32
		}{
			{func(s *uring.SQE) { s.PrepSendZC(a, ptr(data), 3000, 0, 0) }, 0},
			{func(s *uring.SQE) { s.PrepSendZC(a, ptr(data), 3000, unix.MSG_WAITALL, uring.SendZCReportUsage) },
				zcCopied},
			{func(s *uring.SQE) { s.PrepSendmsgZC(a, h, 0, uring.SendZCReportUsage) }, zcCopied},
		} {
			ud := g.push(c.prep)
			g.want(ud, 3000, uring.CQEMore)
			if got := g.read(b, 3000); got != string(data) {
				g.Errorf("%q", got)
			}
			if n := g.want(ud, c.usage, 0); n.Flags != uring.CQENotif {
				g.Errorf("%+v", n)
			}
		}
	})
}

// TestSendZCWaits: a zero-copy send that waits has both completions too, whether it succeeds or not.
func TestSendZCWaits(t *testing.T) {
	onBoth(t, func(g *rig) {
		a, b := g.tcp()
		g.narrow(a, b)
		const size = 4 << 20
		data := pattern(g, size)
		ud := g.push(func(s *uring.SQE) { s.PrepSendZC(a, ptr(data), size, unix.MSG_WAITALL, 0) })
		g.quiet()
		all := drain(b, size)
		g.want(ud, size, uring.CQEMore)
		if got := <-all; string(got) != string(data) {
			g.Errorf("%d bytes have come, or other ones", len(got))
		}
		g.want(ud, 0, 0)

		stuck := g.push(func(s *uring.SQE) { s.PrepSendZC(a, ptr(data), size, unix.MSG_WAITALL, 0) })
		g.quiet()
		g.do(0, func(s *uring.SQE) { s.PrepCancel(stuck) })
		c := g.wait()
		if c.UserData != stuck || c.Res <= 0 || c.Flags != uring.CQEMore {
			g.Fatalf("%+v", c)
		}
		g.read(b, int(c.Res)) // the kernel may let go of the memory only when it has been received
		if c := g.want(stuck, 0, 0); c.Flags != uring.CQENotif {
			g.Errorf("%+v", c)
		}
	})
}
