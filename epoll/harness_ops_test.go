//go:build linux

package epoll

import (
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

// narrow bounds what the kernel buffers between two sockets, so that sends can fill it.
func (g *rig) narrow(a, b int) {
	for _, fd := range []int{a, b} {
		g.check(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 64<<10))
		g.check(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 64<<10))
	}
}

// pattern returns data in which every position is recognizable.
func pattern(g *rig, n int) []byte {
	b := g.bytes(n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// drain reads n bytes, or all that come, on a goroutine.
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

// wait2 takes the completion of userData, which must be the next one.
func (g *rig) wait2(userData uint64) uring.CQE {
	g.Helper()
	c := g.wait()
	if c.UserData != userData {
		g.Fatalf("got %+v, want one of %d", c, userData)
	}
	return c
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

func sockaddr(g *rig, addr unix.Sockaddr) (unsafe.Pointer, uint32) {
	in := addr.(*unix.SockaddrInet4)
	raw := &unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: in.Addr}
	*(*[2]byte)(unsafe.Pointer(&raw.Port)) = [2]byte{byte(in.Port >> 8), byte(in.Port)}
	g.keep = append(g.keep, raw)
	return unsafe.Pointer(raw), unix.SizeofSockaddrInet4
}
