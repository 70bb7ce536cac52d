//go:build linux

package epoll

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// udpPair makes two sockets of one host, connected to each other or not.
func (g *rig) udpPair(host unix.Sockaddr, connected bool) (near, far int) {
	g.Helper()
	family := unix.AF_INET
	if _, ok := host.(*unix.SockaddrInet6); ok {
		family = unix.AF_INET6
	}
	var fds [2]int
	var addrs [2]unix.Sockaddr
	for i := range fds {
		var err error
		fds[i], err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		g.check(err)
		g.open(fds[i])
		g.check(unix.Bind(fds[i], host))
		addrs[i], err = unix.Getsockname(fds[i])
		g.check(err)
	}
	if connected {
		g.check(unix.Connect(fds[0], addrs[1]))
	}
	g.check(unix.Connect(fds[1], addrs[0]))
	return fds[0], fds[1]
}

// namedMessage is the memory of a recvmsg that asks for the name and the control data.
type namedMessage struct {
	header  unix.Msghdr
	iov     unix.Iovec
	name    [28]byte
	control [48]byte
}

func (w *world) named(into []byte) *namedMessage {
	m := new(namedMessage)
	m.iov.Base = unsafe.SliceData(into)
	m.iov.SetLen(len(into))
	m.header = unix.Msghdr{Name: &m.name[0], Namelen: uint32(len(m.name)), Iov: &m.iov, Control: &m.control[0]}
	m.header.SetIovlen(1)
	m.header.SetControllen(len(m.control))
	w.keep = append(w.keep, m)
	return m
}

// String describes what was received except for the data, without ports and descriptors, which differ between the
// worlds.
func (m *namedMessage) String() string {
	w := m.name
	clear(w[2:4])
	m.closePassed()
	return fmt.Sprintf(" name %d %x control %d flags %#x", m.header.Namelen, w[:min(int(m.header.Namelen), len(w))],
		m.header.Controllen, m.header.Flags)
}

func (m *namedMessage) closePassed() {
	closePassed(m.control[:min(int(m.header.Controllen), len(m.control))])
}

// closePassed closes the descriptors that came with a message, and clears them, because they differ between the
// worlds.
func closePassed(control []byte) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return
	}
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			for _, fd := range fds {
				_ = unix.Close(fd)
			}
			clear(messages[i].Data)
		}
	}
}

// multiHeader is the header of a multishot recvmsg: it says how much room there is for a name and control data.
func (g *rig) multiHeader(name, control int) unsafe.Pointer {
	h := &unix.Msghdr{Namelen: uint32(name)}
	h.SetControllen(control)
	g.keep = append(g.keep, h)
	return unsafe.Pointer(h)
}

// multiText returns what a multishot recvmsg has put into a buffer with room for a name of that length.
func multiText(b []byte, name int) string {
	out := (*uring.RecvmsgOut)(unsafe.Pointer(unsafe.SliceData(b)))
	if out.Namelen != 0 && name >= 4 {
		clear(b[18:20]) // the port
	}
	control := b[outSize+uint64(name):]
	closePassed(control[:min(int(out.Controllen), len(control))])
	return string(b)
}

// pass sends a descriptor along with a byte.
func (w *world) pass(fd int) {
	_ = unix.Sendmsg(fd, []byte("d"), unix.UnixRights(unix.Stderr), nil, unix.MSG_DONTWAIT)
}

// sockaddr16 is sockaddr for uring.SQE.To.
func sockaddr16(g *rig, addr unix.Sockaddr) (unsafe.Pointer, uint16) {
	sa, n := sockaddr(g, addr)
	return sa, uint16(n)
}

// queuePair makes two unix sockets for datagrams. near is connected to far, and far to nothing: so the queue of far
// holds no more than net.unix.max_dgram_qlen.
func (g *rig) queuePair() (near, far int) {
	g.Helper()
	fds := [2]int{}
	for i := range fds {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		g.check(err)
		g.open(fd)
		fds[i] = fd
	}
	g.check(unix.Bind(fds[1], &unix.SockaddrUnix{})) // the kernel chooses the name
	name, err := unix.Getsockname(fds[1])
	g.check(err)
	g.check(unix.Connect(fds[0], name))
	return fds[0], fds[1]
}
