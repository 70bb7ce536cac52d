//go:build linux

package epoll

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// payload is what a multishot recvmsg without a name and control data has put into a buffer, which is provided again.
func (g *rig) payload(c uring.CQE) string {
	g.Helper()
	id, ok := c.BufferID()
	if !ok {
		g.Fatalf("%+v: no buffer", c)
	}
	b := g.mem[int(id)*bufSize:][outSize:c.Res]
	g.ProvideBuffer(0, id)
	return string(b)
}

// TestRecvmmsg: datagrams that have queued come in order, whatever their number; empty ones are among them.
func TestRecvmmsg(t *testing.T) {
	g := newRig(t, newEpoll(t, Config{}))
	g.provide()
	near, far := g.udpPair(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}, false)
	room := g.multiHeader(0, 0)
	ud := g.push(func(s *uring.SQE) { s.PrepRecvmsgMultishot(near, 0, room, 0) })
	g.quiet()
	for n := range 2*maxBatch + 3 {
		for i := range n {
			if i%7 == 3 {
				g.check(unix.Send(far, nil, 0))
				continue
			}
			g.write(far, fmt.Sprint(i))
		}
		for i := range n {
			want := fmt.Sprint(i)
			if i%7 == 3 {
				want = ""
			}
			c := g.wait()
			if c.UserData == ud && c.Res == -int32(unix.ENOBUFS) { // the kernel has more than the ring has buffers
				ud = g.push(func(s *uring.SQE) { s.PrepRecvmsgMultishot(near, 0, room, 0) })
				c = g.wait()
			}
			if c.UserData != ud || !c.More() {
				t.Fatalf("%d of %d: %+v", i, n, c)
			}
			if got := g.payload(c); got != want {
				t.Fatalf("%d of %d: %q, want %q", i, n, got, want)
			}
		}
	}
	g.quiet()
}

// TestSendmmsg: messages that one socket sends to addresses are sent in order, and one that cannot be sent fails by
// itself.
func TestSendmmsg(t *testing.T) {
	onBoth(t, func(g *rig) {
		near, far := g.udpPair(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}, false)
		g.provide()
		in := g.push(func(s *uring.SQE) { s.PrepRecvMultishot(near, 0, 0) }) // the ring knows the socket from now on
		g.quiet()
		to, err := unix.Getsockname(far)
		g.check(err)
		sa, size := sockaddr(g, to)
		bad := g.bytes(70_000)
		const n, fails = 2*maxBatch + 5, 11
		uds := map[uint64]int{}
		for i := range n {
			text := []byte(fmt.Sprint(i))
			if i == fails {
				text = bad
			}
			h := header(g, text)
			(*unix.Msghdr)(h).Name, (*unix.Msghdr)(h).Namelen = (*byte)(sa), size
			uds[g.push(func(s *uring.SQE) { s.PrepSendmsg(near, h, unix.MSG_WAITALL) })] = i
		}
		for range n {
			c := g.wait()
			i, ok := uds[c.UserData]
			want := int32(len(fmt.Sprint(i)))
			if i == fails {
				want = -int32(unix.EMSGSIZE)
			}
			if !ok || c.Res != want {
				g.Fatalf("%d: %+v, want %d", i, c, want)
			}
		}
		for i := range n {
			if i == fails {
				continue
			}
			b := make([]byte, 100)
			if got, err := unix.Read(far, b); err != nil || string(b[:got]) != fmt.Sprint(i) {
				g.Fatalf("%q, %v, want %d", b[:max(got, 0)], err, i)
			}
		}
		g.push(func(s *uring.SQE) { s.PrepCancel(in) })
		g.wait()
		g.wait()
	})
}
