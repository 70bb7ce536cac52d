//go:build linux

package epoll

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// BenchmarkPingPong passes messages to and fro over TCP connections, both ends of which are on the one
// ring: an operation is one message, sent and received.
func BenchmarkPingPong(b *testing.B) {
	for _, kind := range []string{"epoll", "uring"} {
		for _, c := range []struct{ conns, size int }{{1, 64}, {64, 64}, {64, 16 << 10}} {
			for _, multishot := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%dx%d/multishot=%v", kind, c.conns, c.size, multishot), func(b *testing.B) {
					pingPong(b, kind, c.conns, c.size, multishot)
				})
			}
		}
	}
}

func pingPong(b *testing.B, kind string, conns, size int, multishot bool) {
	var r ring
	if kind == "epoll" {
		r = newEpoll(b, Config{})
	} else {
		r = newKernel(b)
	}
	g := newRig(b, r)
	const group, buffers = 1, 256
	room := 2 * size // a receive that fills its buffer has to be followed by another
	mem, err := unix.Mmap(-1, 0, buffers*room, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	g.check(err)
	g.check(r.RegisterBuffers(group, mem, room))
	for i := range uint16(buffers) {
		r.ProvideBuffer(group, i)
	}
	fds := make([]int, 2*conns)
	var recv, send uring.SQE
	data := g.bytes(size)
	for i := 0; i < len(fds); i += 2 {
		fds[i], fds[i+1] = g.tcp()
		for _, fd := range fds[i : i+2] {
			g.check(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
		}
	}
	start := func(i int) {
		if multishot {
			recv.PrepRecvMultishot(fds[i], group, 0)
		} else {
			recv.PrepRecvSelect(fds[i], group, 0, 0)
		}
		recv.UserData = uint64(i)<<8 | 1
		r.Push(&recv)
	}
	emit := func(i int) {
		send.PrepSend(fds[i], ptr(data), uint32(size), unix.MSG_WAITALL)
		send.UserData = uint64(i) << 8
		r.Push(&send)
	}
	for i := range fds {
		start(i)
		if i%2 == 0 {
			emit(i)
		}
	}
	got := make([]int, len(fds))
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		g.check(r.Enter(-1))
		for r.Pop(&g.cqe) {
			c := g.cqe
			if c.Res < 0 {
				b.Fatalf("%+v", c)
			}
			if c.UserData&1 == 0 {
				continue
			}
			i := int(c.UserData >> 8)
			if id, ok := c.BufferID(); ok {
				r.ProvideBuffer(group, id)
			}
			if !c.More() {
				start(i)
			}
			if got[i] += int(c.Res); got[i] >= size {
				got[i] -= size
				emit(i)
				n++
			}
		}
	}
}
