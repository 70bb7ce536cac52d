//go:build linux

package epoll

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
)

func TestRecv(t *testing.T) {
	streams(t, func(g *rig, a, b int) {
		into := g.bytes(10)
		for range 3 { // waiting for data
			ud := g.push(recvTo(a, into, 0))
			g.quiet()
			g.write(b, "hello")
			g.want(ud, 5, 0)
			if string(into[:5]) != "hello" {
				g.Errorf("%q", into)
			}
		}
		g.write(b, "0123456789abc") // more than asked for
		g.do(10, recvTo(a, into, unix.MSG_PEEK))
		g.do(10, recvTo(a, into, 0))
		g.do(3, recvTo(a, into, unix.MSG_PEEK)) // a short peek leaves the data there
		g.do(3, recvTo(a, into, 0))
		g.do(-int32(unix.EAGAIN), recvTo(a, into, unix.MSG_DONTWAIT))
		g.write(b, "xyz")
		g.do(3, recvTo(a, into, unix.MSG_DONTWAIT))
		g.write(b, "end")
		g.check(unix.Shutdown(b, unix.SHUT_WR))
		g.do(3, recvTo(a, into, 0))
		g.do(0, recvTo(a, into, 0))
		g.do(0, recvTo(a, into, 0))
	})
}

func TestRecvEndAndReset(t *testing.T) {
	streams(t, func(g *rig, a, b int) {
		ud := g.push(recvTo(a, g.bytes(10), 0))
		g.quiet()
		g.close(b)
		g.want(ud, 0, 0)
	})
	onBoth(t, func(g *rig) {
		a, b := g.tcp()
		ud := g.push(recvTo(a, g.bytes(10), 0))
		g.quiet()
		g.check(unix.SetsockoptLinger(b, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}))
		g.close(b)
		g.fails(ud, unix.ECONNRESET)
		g.do(0, recvTo(a, g.bytes(10), 0))
	})
}

// TestRecvOrder has several receives wait for one descriptor. The kernel completes the last one first.
func TestRecvOrder(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{}))
	a, b := g.pair(unix.SOCK_STREAM)
	first := g.push(recvTo(a, g.bytes(2), 0))
	second := g.push(recvTo(a, g.bytes(2), 0))
	g.quiet()
	g.write(b, "abcd")
	g.want(first, 2, 0)
	g.want(second, 2, 0)
}

func TestRecvWaitAll(t *testing.T) {
	streams(t, func(g *rig, a, b int) {
		g.provide()
		into := g.bytes(10)
		ud := g.push(recvTo(a, into, unix.MSG_WAITALL))
		for _, s := range []string{"01", "234", "5678"} {
			g.write(b, s)
			g.quiet()
		}
		g.write(b, "9x")
		g.want(ud, 10, 0)
		if string(into) != "0123456789" {
			g.Errorf("%q", into)
		}
		g.do(1, recvTo(a, into, 0))

		ud = g.push(func(s *uring.SQE) { s.PrepRecvSelect(a, 0, 6, unix.MSG_WAITALL) })
		g.write(b, "abc")
		g.quiet()
		p, q := g.pair(unix.SOCK_STREAM)
		g.write(q, "other")
		g.want(g.push(func(s *uring.SQE) { s.PrepRecvSelect(p, 0, 6, 0) }), 5, picked)
		g.write(b, "def")
		if got := g.buffer(g.want(ud, 6, picked)); got != "abcdef" {
			g.Errorf("%q", got)
		}
		// What has come is delivered when the rest does not: by a cancel, at the end.
		ud = g.push(recvTo(a, into, unix.MSG_WAITALL))
		g.write(b, "ABCD")
		g.quiet()
		g.do(0, func(s *uring.SQE) { s.PrepCancel(ud) })
		g.want(ud, 4, 0)
		ud = g.push(func(s *uring.SQE) { s.PrepRecvSelect(a, 0, 6, unix.MSG_WAITALL) })
		g.write(b, "EFG")
		g.quiet()
		g.close(b)
		if got := g.buffer(g.want(ud, 3, picked)); got != "EFG" {
			g.Errorf("%q", got)
		}
	})
}

func TestRecvSelect(t *testing.T) {
	streams(t, func(g *rig, a, b int) {
		sel := func(n uint32) func(*uring.SQE) { return func(s *uring.SQE) { s.PrepRecvSelect(a, 0, n, 0) } }
		waiting := g.push(func(s *uring.SQE) { s.PrepRecvSelect(a, 0, 0, 0); s.Ioprio = uring.RecvsendPollFirst })
		g.quiet()
		g.write(b, "x")
		g.fails(waiting, unix.ENOBUFS)
		g.provide()
		if got := g.buffer(g.want(g.push(sel(0)), 1, picked)); got != "x" {
			g.Errorf("%q", got)
		}
		g.write(b, strings.Repeat("y", 100))
		g.want(g.push(sel(0)), bufSize, picked)
		g.want(g.push(sel(30)), 30, picked)
		g.want(g.push(sel(30)), 6, picked)
		ud := g.push(sel(0))
		g.quiet()
		if r, ok := g.ring.(*Ring); ok && len(r.groups[0].free) != bufCount-4 {
			g.Error("a receive that waits holds a buffer")
		}
		g.do(0, func(s *uring.SQE) { s.PrepCancel(ud) })
		g.fails(ud, unix.ECANCELED)
		for range bufCount - 4 {
			g.write(b, "z")
			g.want(g.push(sel(0)), 1, picked)
		}
		g.write(b, "z")
		g.fails(g.push(sel(0)), unix.ENOBUFS)
		g.ProvideBuffer(0, 3)
		if c := g.want(g.push(sel(0)), 1, picked); c.Flags>>uring.CQEBufferShift != 3 {
			g.Errorf("%+v", c)
		}
		g.ProvideBuffer(0, 3)
		g.close(b)
		g.do(0, sel(0)) // EOF carries no buffer
		g.do(0, sel(0))
	})
}

func TestRecvMultishot(t *testing.T) {
	streams(t, func(g *rig, a, b int) {
		g.provide()
		ud := g.push(func(s *uring.SQE) { s.PrepRecvMultishot(a, 0, 0) })
		g.quiet()
		for range 2 {
			g.write(b, "hello")
			if got := g.buffer(g.want(ud, 5, more|picked)); got != "hello" {
				g.Errorf("%q", got)
			}
		}
		g.write(b, strings.Repeat("a", bufSize)+"b")
		g.want(ud, bufSize, more|picked)
		g.want(ud, 1, more|picked)
		for range bufCount - 4 {
			g.write(b, "c")
			g.want(ud, 1, more|picked)
		}
		g.write(b, "d")
		g.fails(ud, unix.ENOBUFS)
		g.quiet()
		g.provide()
		ud = g.push(func(s *uring.SQE) { s.PrepRecvMultishot(a, 0, 0) })
		g.want(ud, 1, more|picked)
		g.do(0, func(s *uring.SQE) { s.PrepCancel(ud) })
		g.fails(ud, unix.ECANCELED)
		g.write(b, "e")
		ud = g.push(func(s *uring.SQE) { s.PrepRecvMultishot(a, 0, 0) })
		g.want(ud, 1, more|picked)
		g.write(b, "f")
		g.close(b)
		g.want(ud, 1, more|picked)
		g.want(ud, 0, 0)
		g.quiet()
	})
}

// TestRecvLimit ends a multishot receive with the completion that reaches its limit.
func TestRecvLimit(t *testing.T) {
	streams(t, func(g *rig, a, b int) {
		if !g.Caps().RecvLimit {
			g.Skip("this kernel does not limit receives")
		}
		g.provide()
		ud := g.push(func(s *uring.SQE) { s.PrepRecvMultishot(a, 0, 0); s.LimitRecv(bufSize + 10) })
		g.quiet()
		g.write(b, "hello")
		g.want(ud, 5, more|picked)
		g.write(b, strings.Repeat("x", 3*bufSize))
		g.want(ud, bufSize, more|picked)
		if c := g.wait2(ud); c.Res <= 0 || c.More() {
			g.Errorf("%+v", c)
		}
		g.quiet()
	})
}

// TestDatagrams: a short receive does not mean that nothing is left, and an empty datagram is not EOF.
func TestDatagrams(t *testing.T) {
	onBoth(t, func(g *rig) {
		g.provide()
		a, b := g.pair(unix.SOCK_DGRAM)
		ud := g.push(func(s *uring.SQE) { s.PrepRecvMultishot(a, 0, 0) })
		g.quiet()
		for _, s := range []string{"one", "two", strings.Repeat("x", 100)} {
			g.write(b, s)
		}
		g.want(ud, 3, more|picked)
		g.want(ud, 3, more|picked)
		g.want(ud, bufSize, more|picked)
		g.write(b, "")
		g.want(ud, 0, 0)
		g.write(b, "abc")
		g.do(3, recvTo(a, g.bytes(10), unix.MSG_WAITALL)) // not retried
		ud = g.push(recvTo(a, g.bytes(2), unix.MSG_TRUNC))
		g.quiet()
		g.write(b, "abc")
		g.want(ud, 3, 0)
		g.fails(g.push(recvTo(a, g.bytes(2), unix.MSG_OOB)), unix.EOPNOTSUPP)
	})
}

// TestUrgent: urgent data makes a receive short although data is left behind it.
func TestUrgent(t *testing.T) {
	onBoth(t, func(g *rig) {
		a, b := g.tcp()
		into := g.bytes(16)
		ud := g.push(recvTo(a, into, 0))
		g.quiet()
		g.check(unix.Sendto(b, []byte("ab!"), unix.MSG_OOB, nil))
		g.write(b, "cd")
		g.want(ud, 2, 0)
		g.do(1, recvTo(a, into, unix.MSG_OOB))
		g.do(2, recvTo(a, into, 0))
	})
}

// TestErrorQueue receives from a socket's error queue, which waits for errors, not for data.
func TestErrorQueue(t *testing.T) {
	onBoth(t, func(g *rig) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		g.check(err)
		g.open(fd)
		g.check(unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_RECVERR, 1))
		closed := g.socket() // a port that no socket has, of a socket that is bound and of the other kind
		g.check(unix.Bind(closed, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
		addr, err := unix.Getsockname(closed)
		g.check(err)
		g.check(unix.Connect(fd, addr))
		ud := g.push(recvTo(fd, g.bytes(8), unix.MSG_ERRQUEUE))
		g.quiet()
		g.do(8, sendFrom(fd, g.bytes(8), 0))
		g.want(ud, 8, 0)
		g.fails(g.push(recvTo(fd, g.bytes(8), unix.MSG_DONTWAIT)), unix.EAGAIN)
	})
}

// TestLimitedReceivesTrustTheRing: a multishot receive with a limit is armed often, so it does without the system
// call by which other multishot entries verify the descriptor.
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
