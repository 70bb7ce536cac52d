//go:build linux

package epoll

import (
	"bytes"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

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

// TestSendOrder has several sends wait for one descriptor: they are made in order. The kernel does not guarantee
// that.
func TestSendOrder(t *testing.T) {
	const n = 4 << 20
	g := newRig(t, newEpoll(t, Config{}))
	a, b := g.tcp()
	g.narrow(a, b)
	data := pattern(g, n)
	first := g.push(sendFrom(a, data[:n/2], unix.MSG_WAITALL))
	g.quiet()
	head := g.read(b, 100<<10) // there is room now, for the next one
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
		for { // the rest of the room
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

// TestSendCancelled: a cancelled send completes with the number of bytes that it has sent.
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

// TestNoSignal: a send to a closed peer raises no SIGPIPE.
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
