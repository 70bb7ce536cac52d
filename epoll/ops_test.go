package epoll

import (
	"bytes"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

const (
	more   = uring.CQEMore
	picked = uring.CQEBuffer
)

// streams runs a test over every kind of stream.
func streams(t *testing.T, f func(g *rig, a, b int)) {
	t.Run("unix", func(t *testing.T) {
		onBoth(t, func(g *rig) { a, b := g.pair(unix.SOCK_STREAM); f(g, a, b) })
	})
	t.Run("tcp", func(t *testing.T) {
		onBoth(t, func(g *rig) { a, b := g.tcp(); f(g, a, b) })
	})
}

func recvTo(fd int, b []byte, flags int) func(*uring.SQE) {
	return func(s *uring.SQE) { s.PrepRecv(fd, ptr(b), uint32(len(b)), flags) }
}

func sendFrom(fd int, b []byte, flags int) func(*uring.SQE) {
	return func(s *uring.SQE) { s.PrepSend(fd, ptr(b), uint32(len(b)), flags) }
}

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

// TestRecvOrder has several receives wait on one descriptor. The kernel answers the last one first.
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
		g.do(0, sel(0)) // the end carries no buffer
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

// TestDatagrams: a short receive does not mean that there is nothing left, and an empty one is not
// the end.
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

// TestUrgent has urgent data split what is received: the short receive before the mark must not be
// taken for the end of what there is.
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
		closed := g.socket() // a port that nobody has, of a socket that is bound and of the other kind
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

func TestSend(t *testing.T) {
	streams(t, func(g *rig, a, b int) {
		g.do(5, sendFrom(a, []byte("hello"), 0))
		if got := g.read(b, 5); got != "hello" {
			g.Errorf("%q", got)
		}
		g.do(0, sendFrom(a, g.bytes(0), 0))
		g.check(unix.Shutdown(a, unix.SHUT_WR))
		g.fails(g.push(sendFrom(a, g.bytes(5), 0)), unix.EPIPE)
	})
}

// narrow bounds what the kernel keeps between two ends, so that sends can fill it.
func (g *rig) narrow(a, b int) {
	for _, fd := range []int{a, b} {
		g.check(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 64<<10))
		g.check(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 64<<10))
	}
}

// pattern is data in which every position can be told.
func pattern(g *rig, n int) []byte {
	b := g.bytes(n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// drain reads n bytes, or as many as there are, on a goroutine.
func drain(fd, n int) <-chan []byte {
	c := make(chan []byte, 1)
	go func() {
		b := make([]byte, n)
		at := 0
		for at < n {
			m, err := unix.Read(fd, b[at:])
			if m <= 0 || err != nil {
				break
			}
			at += m
		}
		c <- b[:at]
	}()
	return c
}

// TestSendOrder has sends wait behind one another. The kernel does not promise their order.
func TestSendOrder(t *testing.T) {
	const n = 4 << 20
	g := newRig(t, newEpoll(t, Config{}))
	a, b := g.tcp()
	g.narrow(a, b)
	data := pattern(g, n)
	first := g.push(sendFrom(a, data[:n/2], unix.MSG_WAITALL))
	g.quiet()
	head := g.read(b, 100<<10) // there is room now, for who is next
	second := g.push(sendFrom(a, data[n/2:n-4], unix.MSG_WAITALL))
	third := g.push(func(s *uring.SQE) { s.PrepWrite(a, ptr(data[n-4:]), 4, 0) })
	drained := drain(b, n-len(head))
	g.want(first, n/2, 0)
	g.want(second, n/2-4, 0)
	g.want(third, 4, 0)
	if head+string(<-drained) != string(data) {
		t.Error("bytes lost or out of order")
	}
}

func TestSendWaitAll(t *testing.T) {
	const n = 3 << 20
	streams(t, func(g *rig, a, b int) {
		g.narrow(a, b)
		data := pattern(g, n)
		ud := g.push(sendFrom(a, data, unix.MSG_WAITALL))
		g.quiet()
		drained := drain(b, n)
		g.want(ud, n, 0)
		if !bytes.Equal(<-drained, data) {
			g.Error("bytes lost or out of order")
		}
		// Without MSG_WAITALL a part is enough.
		if c := g.wait2(g.push(sendFrom(a, data, 0))); c.Res <= 0 || c.Res >= n {
			g.Errorf("%+v", c)
		}
		for { // what is left of the room, until there is none
			if c := g.wait2(g.push(sendFrom(a, data, unix.MSG_DONTWAIT))); c.Res == -int32(unix.EAGAIN) {
				break
			}
		}
		waiting := g.push(sendFrom(a, data, unix.MSG_WAITALL))
		g.quiet()
		g.close(b)
		if c := g.wait(); c.UserData != waiting || c.Res != -int32(unix.EPIPE) && c.Res != -int32(unix.ECONNRESET) {
			g.Errorf("%+v", c)
		}
	})
}

// wait2 takes the completion of userData, whatever it is.
func (g *rig) wait2(userData uint64) uring.CQE {
	g.Helper()
	c := g.wait()
	if c.UserData != userData {
		g.Fatalf("got %+v, want one of %d", c, userData)
	}
	return c
}

// TestSendCancelled delivers what was sent, not that it was cancelled.
func TestSendCancelled(t *testing.T) {
	streams(t, func(g *rig, a, b int) {
		g.narrow(a, b)
		data := pattern(g, 3<<20)
		ud := g.push(sendFrom(a, data, unix.MSG_WAITALL))
		g.quiet()
		g.do(0, func(s *uring.SQE) { s.PrepCancel(ud) })
		c := g.wait2(ud)
		if c.Res <= 0 {
			g.Fatalf("%+v", c)
		}
		if got := g.read(b, int(c.Res)); got != string(data[:c.Res]) {
			g.Error("bytes lost or out of order")
		}
		g.check(unix.SetNonblock(b, true))
		if n, err := unix.Read(b, make([]byte, 1)); err != unix.EAGAIN {
			g.Error("more came than was reported:", n, err)
		}
	})
}

func header(g *rig, parts ...[]byte) unsafe.Pointer {
	m := &struct {
		h   unix.Msghdr
		iov [4]unix.Iovec
	}{}
	for i, p := range parts {
		m.iov[i].Base = unsafe.SliceData(p)
		m.iov[i].SetLen(len(p))
	}
	m.h.Iov = &m.iov[0]
	m.h.SetIovlen(len(parts))
	g.keep = append(g.keep, m)
	return unsafe.Pointer(&m.h)
}

// TestMessages sends and receives vectors in parts, and finds the caller's vectors as they were.
func TestMessages(t *testing.T) {
	const n = 3 << 20
	streams(t, func(g *rig, a, b int) {
		g.narrow(a, b)
		data := pattern(g, n)
		out := header(g, data[:1000], data[1000:1000], data[1000:2<<20], data[2<<20:])
		ud := g.push(func(s *uring.SQE) { s.PrepSendmsg(a, out, unix.MSG_WAITALL) })
		g.quiet()
		back := g.bytes(n)
		in := header(g, back[:77], back[77:1<<20], back[1<<20:n-5], back[n-5:])
		before := *(*unix.Msghdr)(in)
		got := g.push(func(s *uring.SQE) { s.PrepRecvmsg(b, in, unix.MSG_WAITALL) })
		results := map[uint64]int32{}
		for range 2 {
			c := g.wait()
			results[c.UserData] = c.Res
		}
		if results[ud] != n || results[got] != n || !bytes.Equal(back, data) {
			g.Error(results, bytes.Equal(back, data))
		}
		if after := *(*unix.Msghdr)(in); after.Iov != before.Iov || after.Iovlen != before.Iovlen || messageLen(&after) != n {
			g.Errorf("the caller's header became %+v", after)
		}
		if messageLen((*unix.Msghdr)(out)) != n {
			g.Error("the caller's vectors were changed")
		}
	})
}

func TestRecvmsgSelect(t *testing.T) {
	onBoth(t, func(g *rig) {
		g.provide()
		a, b := g.pair(unix.SOCK_DGRAM)
		limit := g.bytes(20)
		in := header(g, limit)
		prep := func(s *uring.SQE) { s.PrepRecvmsg(a, in, 0); s.Flags = uring.SQEBufferSelect }
		ud := g.push(prep)
		g.quiet()
		g.write(b, "hello")
		if got := g.buffer(g.want(ud, 5, picked)); got != "hello" {
			g.Errorf("%q", got)
		}
		g.write(b, strings.Repeat("x", 30))
		g.want(g.push(prep), 20, picked)
		if h := (*unix.Msghdr)(in); h.Flags&unix.MSG_TRUNC == 0 || h.Iov.Base != &limit[0] || h.Iov.Len != 20 {
			g.Errorf("%+v %+v", h, h.Iov)
		}
		two := header(g, limit[:1], limit[1:])
		g.fails(g.push(func(s *uring.SQE) { s.PrepRecvmsg(a, two, 0); s.Flags = uring.SQEBufferSelect }), unix.EINVAL)
	})
}

// TestDescriptorsPassed sends a descriptor along. It goes with the first part of a message only, and a
// receive that takes it has what comes with it, even with MSG_WAITALL.
func TestDescriptorsPassed(t *testing.T) {
	const n = 1 << 20
	onBoth(t, func(g *rig) {
		a, b := g.pair(unix.SOCK_STREAM)
		g.narrow(a, b)
		out := header(g, pattern(g, n))
		rights := unix.UnixRights(a)
		h := (*unix.Msghdr)(out)
		h.Control = &rights[0]
		h.SetControllen(len(rights))
		into, control := g.bytes(n), g.bytes(64)
		in := header(g, into)
		h = (*unix.Msghdr)(in)
		send := g.push(func(s *uring.SQE) { s.PrepSendmsg(a, out, unix.MSG_WAITALL) })
		got, passed := 0, 0
		for got < n {
			h.Control = &control[0]
			h.SetControllen(len(control))
			h.Iov.Base = &into[got]
			h.Iov.SetLen(n - got)
			recv := g.push(func(s *uring.SQE) { s.PrepRecvmsg(b, in, unix.MSG_WAITALL) })
			for c := g.wait(); ; c = g.wait() {
				if c.UserData == recv && c.Res > 0 {
					got += int(c.Res)
					break
				} else if c.UserData != send || c.Res != n {
					g.Fatalf("%+v", c)
				}
			}
			msgs, err := unix.ParseSocketControlMessage(control[:h.Controllen])
			g.check(err)
			for _, m := range msgs {
				fds, err := unix.ParseUnixRights(&m)
				g.check(err)
				g.open(fds...)
				passed += len(fds)
			}
		}
		if passed != 1 {
			g.Errorf("%d descriptors have come", passed)
		}
	})
}

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

// TestAcceptEMFILE runs out of descriptors: a multishot accept ends, and the connection is not lost.
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

func sockaddr(g *rig, addr unix.Sockaddr) (unsafe.Pointer, uint32) {
	in := addr.(*unix.SockaddrInet4)
	raw := &unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: in.Addr}
	*(*[2]byte)(unsafe.Pointer(&raw.Port)) = [2]byte{byte(in.Port >> 8), byte(in.Port)}
	g.keep = append(g.keep, raw)
	return unsafe.Pointer(raw), unix.SizeofSockaddrInet4
}

func TestConnect(t *testing.T) {
	onBoth(t, func(g *rig) {
		l, addr := g.listen()
		sa, n := sockaddr(g, addr)
		fd := g.socket()
		dial := func(s *uring.SQE) { s.PrepConnect(fd, sa, n) }
		g.do(0, dial)
		conn, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
		g.check(err)
		g.open(conn)
		g.fails(g.push(dial), unix.EISCONN)
		ud := g.push(recvTo(fd, g.bytes(4), 0))
		g.quiet()
		g.write(conn, "ping")
		g.want(ud, 4, 0)

		g.close(l)
		refused := g.socket()
		g.fails(g.push(func(s *uring.SQE) { s.PrepConnect(refused, sa, n) }), unix.ECONNREFUSED)
		g.do(0, recvTo(refused, g.bytes(4), 0))
		g.fails(g.push(func(s *uring.SQE) { s.PrepConnect(refused, sa, n) }), unix.ECONNREFUSED)
		bad := g.socket()
		g.fails(g.push(func(s *uring.SQE) { s.PrepConnect(bad, sa, 3) }), unix.EINVAL)
		far, n := sockaddr(g, &unix.SockaddrInet4{Addr: [4]byte{255, 255, 255, 255}, Port: 1})
		g.fails(g.push(func(s *uring.SQE) { s.PrepConnect(g.socket(), far, n) }), unix.ENETUNREACH)
	})
}

// TestConnectPending cancels a connect that gets no answer: the backlog of its listener is full.
func TestConnectPending(t *testing.T) {
	onBoth(t, func(g *rig) {
		l, addr := g.listen()
		g.check(unix.Listen(l, 0))
		sa, n := sockaddr(g, addr)
		var waiting uint64
		for range 4 {
			fd := g.socket()
			ud := g.push(func(s *uring.SQE) { s.PrepConnect(fd, sa, n) })
			g.check(g.Enter(0))
			g.check(g.Enter(0))
			if g.Pop(&g.cqe) {
				if g.cqe.Res != 0 {
					g.Fatalf("%+v", g.cqe)
				}
				continue
			}
			waiting = ud
			break
		}
		if waiting == 0 {
			g.Skip("the kernel takes any number of connections")
		}
		g.do(0, func(s *uring.SQE) { s.PrepCancel(waiting) })
		g.fails(waiting, unix.ECANCELED)
	})
}

// TestClose closes a descriptor under a receive: the receive goes on, the peer sees no end, and the
// ring finds the descriptor closed.
func TestClose(t *testing.T) {
	streams(t, func(g *rig, a, b int) {
		ud := g.push(recvTo(a, g.bytes(4), 0))
		g.quiet()
		closeA := func(s *uring.SQE) { s.PrepClose(a) }
		g.do(0, closeA)
		g.fails(g.push(closeA), unix.EBADF)
		g.fails(g.push(recvTo(a, g.bytes(4), 0)), unix.EBADF)
		g.fails(g.push(sendFrom(a, g.bytes(4), 0)), unix.EBADF)
		g.fails(g.push(func(s *uring.SQE) { s.PrepPollAdd(a, unix.POLLIN) }), unix.EBADF)
		g.quiet()
		g.write(b, "late")
		g.want(ud, 4, 0)
		if got, err := unix.Read(b, make([]byte, 1)); got != 0 || err != nil {
			g.Error("the file is still open:", got, err)
		}
		if _, err := unix.FcntlInt(uintptr(a), unix.F_GETFD, 0); err != unix.EBADF {
			g.Error("the number is still taken:", err)
		}
	})
}

// TestNumberReused closes descriptors in every way the ring can know of, and uses their numbers for
// other files at once.
func TestNumberReused(t *testing.T) {
	onBoth(t, func(g *rig) {
		l, addr := g.listen()
		a, b := g.pair(unix.SOCK_STREAM)
		use := func() {
			g.Helper()
			ud := g.push(recvTo(a, g.bytes(4), 0))
			g.quiet()
			g.write(b, "abcd")
			g.want(ud, 4, 0)
		}
		replace := func() {
			g.Helper()
			fd, _ := g.pair(unix.SOCK_STREAM)
			if fd != a {
				g.Fatalf("got descriptor %d, not %d", fd, a)
			}
			b = g.fds[len(g.fds)-1]
		}
		for range 3 {
			use()
			g.do(0, func(s *uring.SQE) { s.PrepClose(a) })
			replace()
			use()
			g.close(a)
			replace()
		}
		// Closed without a word, and given out again by accept.
		use()
		g.check(unix.Close(a))
		c := g.dial(addr)
		if c != a {
			g.Fatal(c, a)
		}
		g.check(unix.Dup3(c, b, unix.O_CLOEXEC)) // b is the connection now; free a's number again
		g.check(unix.Close(a))
		ud := g.push(func(s *uring.SQE) { s.PrepAccept(l, unix.SOCK_CLOEXEC) })
		if got := int(g.wait2(ud).Res); got != a {
			g.Fatal(got, a)
		}
		use()
		// And by socket, to connect.
		g.check(unix.Close(a))
		if fd := g.socket(); fd != a {
			g.Fatal(fd, a)
		}
		sa, n := sockaddr(g, addr)
		g.do(0, func(s *uring.SQE) { s.PrepConnect(a, sa, n) })
		conn, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
		g.check(err)
		g.open(conn)
		b = conn
		use()
	})
}

// TestForget gives a descriptor away while something is in flight on it.
func TestForget(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{}))
	r := g.ring.(*Ring)
	a, b := g.pair(unix.SOCK_STREAM)
	recv := g.push(recvTo(a, g.bytes(4), 0))
	poll := g.push(func(s *uring.SQE) { s.PrepPollMultishot(a, unix.POLLIN) })
	g.quiet()
	r.Forget(a)
	g.fails(recv, unix.ECANCELED)
	g.fails(poll, unix.ECANCELED)
	g.write(b, "abcd")
	if n, err := unix.EpollWait(r.poller.fd, make([]unix.EpollEvent, 1), 0); n != 0 || err != nil {
		t.Error("it is still in the epoll set:", n, err)
	}
	r.Forget(a)
	r.Forget(1 << 20)
	r.Forget(-1)
	g.do(4, recvTo(a, g.bytes(4), 0)) // and may come back
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

func TestReadWrite(t *testing.T) {
	onBoth(t, func(g *rig) {
		g.provide()
		rd, wr := g.pipe()
		into := g.bytes(16)
		read := func(s *uring.SQE) { s.PrepRead(rd, ptr(into), 16, 0) }
		for range 3 {
			ud := g.push(read)
			g.quiet()
			g.write(wr, "abc")
			g.want(ud, 3, 0)
		}
		ud := g.push(func(s *uring.SQE) { s.PrepRead(rd, nil, 0, 0); s.Flags = uring.SQEBufferSelect })
		g.quiet()
		g.write(wr, "sel")
		if got := g.buffer(g.want(ud, 3, picked)); got != "sel" {
			g.Errorf("%q", got)
		}
		big := g.bytes(1 << 20)
		g.do(64<<10, func(s *uring.SQE) { s.PrepWrite(wr, ptr(big), 1<<20, 0) })
		ud = g.push(func(s *uring.SQE) { s.PrepWrite(wr, ptr(big), 1<<20, 0) })
		g.quiet()
		g.read(rd, 4096)
		g.want(ud, 4096, 0)
		g.read(rd, 64<<10)
		g.close(wr)
		g.do(0, read)
		rd, wr = g.pipe()
		g.close(rd)
		g.fails(g.push(func(s *uring.SQE) { s.PrepWrite(wr, ptr(big), 1, 0) }), unix.EPIPE)
	})
	streams(t, func(g *rig, a, b int) {
		into := g.bytes(16)
		ud := g.push(func(s *uring.SQE) { s.PrepRead(a, ptr(into), 16, 0) })
		g.quiet()
		g.do(3, func(s *uring.SQE) { s.PrepWrite(b, ptr([]byte("abc")), 3, 0) })
		g.want(ud, 3, 0)
		g.do(0, func(s *uring.SQE) { s.PrepRead(a, ptr(into), 0, 0) })
		g.close(b)
		g.do(0, func(s *uring.SQE) { s.PrepRead(a, ptr(into), 16, 0) })
	})
}

func TestFiles(t *testing.T) {
	onBoth(t, func(g *rig) {
		g.provide()
		fd := g.file()
		data, into := pattern(g, 1<<20), g.bytes(1<<20)
		g.do(1<<20, func(s *uring.SQE) { s.PrepWrite(fd, ptr(data), 1<<20, 0) })
		g.do(0, func(s *uring.SQE) { s.PrepFsync(fd, 0) })
		g.do(0, func(s *uring.SQE) { s.PrepFsync(fd, 0); s.OpFlags = 1 })
		const parts, size = 64, 1 << 14
		for i := range uint64(parts) {
			g.push(func(s *uring.SQE) { s.PrepRead(fd, ptr(into[i*size:]), size, i*size) })
		}
		for range parts {
			if c := g.wait(); c.Res != size {
				g.Fatalf("%+v", c)
			}
		}
		if !bytes.Equal(into, data) {
			g.Error("read something else than was written")
		}
		g.do(10, func(s *uring.SQE) { s.PrepRead(fd, ptr(into), 10, ^uint64(0)) })
		g.do(10, func(s *uring.SQE) { s.PrepRead(fd, ptr(into), 10, ^uint64(0)) })
		if !bytes.Equal(into[:10], data[10:20]) {
			g.Error("the file's position did not move")
		}
		ud := g.push(func(s *uring.SQE) { s.PrepRead(fd, nil, 20, 100); s.Flags = uring.SQEBufferSelect })
		if got := g.buffer(g.want(ud, 20, picked)); got != string(data[100:120]) {
			g.Errorf("%q", got)
		}
		g.do(0, func(s *uring.SQE) { s.PrepClose(fd) })
		g.fails(g.push(func(s *uring.SQE) { s.PrepFsync(fd, 0) }), unix.EBADF)
	})
}

// TestManyDescriptors has a batch of bytes end amid the descriptors that are ready, again and again.
func TestManyDescriptors(t *testing.T) {
	const pairs, size, rounds = 100, 1000, 5
	g := newRig(t, newEpoll(t, Config{BatchBytes: 3 * size, Entries: 8}))
	type conn struct{ a, b int }
	conns := make([]conn, pairs)
	into := g.bytes(pairs * size)
	for i := range conns {
		conns[i].a, conns[i].b = g.tcp()
	}
	for range rounds {
		base := g.next
		for i, c := range conns {
			g.push(recvTo(c.a, into[i*size:][:size], unix.MSG_WAITALL))
		}
		g.quiet()
		for _, c := range conns {
			g.write(c.b, strings.Repeat("x", size))
		}
		for range pairs {
			c := g.wait()
			if c.Res != size || c.UserData < base || c.UserData >= base+pairs {
				t.Fatalf("%+v", c)
			}
		}
		g.quiet()
	}
}

// TestFairness floods one multishot receive, and has another descriptor get its turn all the same.
func TestFairness(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{BatchBytes: 1}))
	g.provide()
	a, b := g.tcp()
	p, q := g.tcp()
	flood := g.push(func(s *uring.SQE) { s.PrepRecvMultishot(a, 0, 0) })
	other := g.push(recvTo(p, g.bytes(8), 0))
	g.quiet()
	g.write(b, strings.Repeat("x", 6*bufSize))
	g.write(q, "turn")
	for range 2 {
		if c := g.wait(); c.UserData == other {
			break
		} else if c.UserData != flood {
			t.Fatalf("%+v", c)
		}
		if !g.ring.(*Ring).cq.empty() {
			t.Fatal("a batch of one byte has more than one completion")
		}
	}
}

// TestMultishotShares has another receive wait beside a multishot one: they take turns.
func TestMultishotShares(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{}))
	g.provide()
	a, b := g.tcp()
	multi := g.push(func(s *uring.SQE) { s.PrepRecvMultishot(a, 0, 0) })
	single := g.push(recvTo(a, g.bytes(8), 0))
	g.quiet()
	for _, ud := range []uint64{multi, single, multi} {
		g.write(b, "x")
		g.wait2(ud)
	}
}

// TestHaste: answers that submitting alone has made are given out without looking for events, but only a few
// of them, and fewer when they cost more.
func TestHaste(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{}))
	a, b := g.tcp()
	out, _ := g.tcp()
	for _, c := range []struct {
		prep  func(*uring.SQE)
		looks int // the entry that makes it look
	}{
		{(*uring.SQE).PrepNop, haste/turnCost + 1},
		{sendFrom(out, pattern(g, haste/2), 0), 2},
		{sendFrom(out, pattern(g, haste), 0), 1},
	} {
		ud := g.push(recvTo(a, g.bytes(8), 0))
		g.quiet()
		g.write(b, "x")
		for n := 1; ; n++ {
			other := g.push(c.prep)
			g.check(g.Enter(-1))
			if !g.Pop(&g.cqe) || g.cqe.UserData != other || g.cqe.Res < 0 {
				t.Fatalf("%+v", g.cqe)
			}
			if g.Pop(&g.cqe) {
				if g.cqe.UserData != ud || n != c.looks {
					t.Errorf("%+v after %d entries, not %d", g.cqe, n, c.looks)
				}
				break
			}
			if n > c.looks {
				t.Fatalf("the receive is starved by %d entries", n)
			}
		}
	}
}

// TestNoSleep has a batch end without a completion: what is left of it must be done before waiting.
func TestNoSleep(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{BatchBytes: 1}))
	a, b := g.tcp()
	p, q := g.tcp()
	g.push(recvTo(a, g.bytes(8), unix.MSG_WAITALL))
	ud := g.push(recvTo(p, g.bytes(8), 0))
	g.quiet()
	g.write(b, "part")
	g.write(q, "whole")
	g.check(g.Enter(-1))
	g.want(ud, 5, 0)
}

// TestAcceptedIsIdle: a receive on a fresh connection is not tried before there is an event.
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
		t.Error("it is tried at once")
	}
	g.write(c, "x")
	g.want(ud, 1, 0)
}

// TestStaleEvent has the number of a file be used again while a duplicate keeps the old file, and its
// registration, alive: the events of that are nobody's.
func TestStaleEvent(t *testing.T) {
	r := newEpoll(t, Config{})
	g := newRig(t, r)
	a, b := g.tcp()
	p, q := g.tcp()
	ud := g.push(recvTo(a, g.bytes(8), 0))
	g.quiet()
	g.do(0, func(s *uring.SQE) { s.PrepCancel(ud) })
	g.fails(ud, unix.ECANCELED)
	old, err := unix.FcntlInt(uintptr(a), unix.F_DUPFD_CLOEXEC, 0)
	g.check(err)
	g.open(old)
	g.check(unix.Dup3(p, a, unix.O_CLOEXEC))
	poll := g.push(func(s *uring.SQE) { s.PrepPollAdd(a, unix.POLLIN) }) // finds that a is another file
	g.push(recvTo(a, g.bytes(8), 0))
	g.quiet()
	g.write(b, "old")
	events := r.poller.events[:r.poller.wait(0)]
	if len(events) == 0 {
		t.Fatal("the old file is not in the epoll set any more")
	}
	for _, ev := range events {
		r.files.signal(ev.Fd, uint32(ev.Pad), ev.Events)
	}
	if r.files.anyReady() {
		t.Error("an event of another file was taken for its own")
	}
	g.write(q, "new")
	g.want(poll, unix.POLLIN, 0)
}

// TestNoSignal: sending to a peer that has gone raises no SIGPIPE.
func TestNoSignal(t *testing.T) {
	onBoth(t, func(g *rig) {
		var old, pipe unix.Sigset_t
		pipe.Val[0] = 1 << (unix.SIGPIPE - 1)
		g.check(unix.PthreadSigmask(unix.SIG_BLOCK, &pipe, &old))
		defer func() { g.check(unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)) }()
		a, b := g.pair(unix.SOCK_STREAM)
		g.close(b)
		data := g.bytes(4)
		for _, prep := range []func(*uring.SQE){
			sendFrom(a, data, 0),
			func(s *uring.SQE) { s.PrepSendmsg(a, header(g, data), 0) },
			func(s *uring.SQE) { s.PrepWrite(a, ptr(data), 4, 0) },
		} {
			if _, ok := g.ring.(*Ring); !ok && g.sqe.Opcode == uring.OpSendmsg {
				break // the kernel does raise it for a write
			}
			g.fails(g.push(prep), unix.EPIPE)
			var pending unix.Sigset_t
			raw(unix.SYS_RT_SIGPENDING, uintptr(unsafe.Pointer(&pending)), 8, 0, 0, 0, 0)
			if pending.Val[0]&pipe.Val[0] != 0 {
				g.Fatal("SIGPIPE")
			}
		}
	})
}
