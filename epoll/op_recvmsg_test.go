//go:build linux

package epoll

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// TestMessages sends and receives vectors in parts, and does not change the caller's.
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
		if after := *(*unix.Msghdr)(in); after.Iov != before.Iov || after.Iovlen != before.Iovlen ||
			messageLen(&after) != n {
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

// TestDescriptorsPassed sends a descriptor with data. It is sent with the first part only, and a receive that takes
// it completes with that part, even with MSG_WAITALL.
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
