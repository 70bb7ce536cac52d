package simring_test

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// localPair returns a connection of unix sockets at an abstract name.
func (m *machine) localPair(kind int) (a, b int) {
	m.Helper()
	ln := m.socket(unix.AF_UNIX, kind)
	name := named("\x00reactord " + m.Name())
	m.value(0, m.bind(ln, name))
	m.value(0, m.listen(ln, 1))
	a = m.socket(unix.AF_UNIX, kind)
	m.value(0, m.connect(a, name))
	b = m.fd(m.do(func(s *uring.SQE) { s.PrepAccept(ln, unix.SOCK_CLOEXEC) }))
	m.close(ln)
	return a, b
}

func TestUnixStream(t *testing.T) {
	onBoth(t, func(m *machine) {
		a, b := m.localPair(unix.SOCK_STREAM)
		m.value(3, m.send(a, "abc", 0))
		m.value(3, m.send(a, "def", 0))
		m.gets("abcd", b, 4, 0)
		m.gets("ef", b, 9, 0)
		m.shutdownWrite(a)
		m.gets("", b, 9, 0)
		m.fails(unix.EPIPE, m.send(a, "x", 0))
		m.value(6, m.send(b, "unread", 0))
		m.close(a)
		_, res := m.recv(b, 1, 0)
		m.fails(unix.ECONNRESET, res)
		m.fails(unix.EPIPE, m.send(b, "x", 0))
		m.close(b)
	})
}

func TestUnixSeqpacket(t *testing.T) {
	onBoth(t, func(m *machine) {
		a, b := m.localPair(unix.SOCK_SEQPACKET)
		m.value(3, m.send(a, "abc", 0))
		m.value(3, m.send(a, "def", 0))
		m.gets("ab", b, 2, 0) // the rest of it is lost
		m.gets("def", b, 9, 0)
		m.close(a)
		m.gets("", b, 9, 0)
		m.fails(unix.EPIPE, m.send(b, "x", 0))
		m.close(b)
	})
}

func TestUnixDatagrams(t *testing.T) {
	onBoth(t, func(m *machine) {
		a, b := m.socket(unix.AF_UNIX, unix.SOCK_DGRAM), m.socket(unix.AF_UNIX, unix.SOCK_DGRAM)
		at := named("\x00reactord " + m.Name())
		m.value(0, m.bind(a, at))
		m.fails(unix.EADDRINUSE, m.bind(b, at))
		m.fails(unix.ENOTCONN, m.send(b, "unsent", 0))
		m.value(0, m.connect(b, at))
		m.value(3, m.send(b, "one", 0))
		m.value(3, m.send(b, "two", 0))
		m.gets("on", a, 2, 0)
		m.gets("two", a, 9, 0)
		m.close(a)
		m.fails(unix.ECONNREFUSED, m.send(b, "gone", 0))
		m.fails(unix.ECONNREFUSED, m.connect(b, at))
		m.close(b)
		c := m.socket(unix.AF_UNIX, unix.SOCK_STREAM)
		m.fails(unix.ENOENT, m.connect(c, named(m.dir+"/missing\x00")))
		m.close(c)
	})
}

// Descriptors are passed with the bytes they were sent with; those that are not received are closed.
func TestPassingDescriptors(t *testing.T) {
	onBoth(t, func(m *machine) {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
			a, b := m.localPair(kind)
			r, w := m.pipe(0)
			pass := func() {
				h := newMsghdr(m, nil, unix.UnixRights(r), []byte("fd"))
				m.value(2, m.do(func(s *uring.SQE) { s.PrepSendmsg(a, h.pointer(), 0) }))
			}
			pass()
			m.close(r)
			h := newMsghdr(m, nil, make([]byte, unix.CmsgSpace(4)), make([]byte, 8))
			recvmsg := func(s *uring.SQE) { s.PrepRecvmsg(b, h.pointer(), unix.MSG_CMSG_CLOEXEC) }
			m.value(2, m.do(recvmsg))
			size, flags := int(h.Controllen), h.Flags&^unix.MSG_CMSG_CLOEXEC&^unix.MSG_EOR
			if size != unix.CmsgSpace(4) && size != unix.CmsgLen(4) || flags != 0 {
				m.Fatalf("control data of %d bytes, flags %#x", size, flags)
			}
			r = int(binary.NativeEndian.Uint32(h.control[unix.CmsgLen(0):]))
			m.value(4, m.write(w, "pipe", 0))
			m.reads("pipe", r, 9, 0)

			pass() // to a receive without room for it
			h.Control, h.Controllen = nil, 0
			m.value(2, m.do(recvmsg))
			if h.Flags&unix.MSG_CTRUNC == 0 {
				m.Errorf("flags %#x of a message without room for its descriptor", h.Flags)
			}
			pass() // to a receive without control data
			m.gets("fd", b, 9, 0)
			pass() // and it is never received
			m.close(a, b, r)
			m.fails(unix.EPIPE, m.write(w, "x", 0))
			m.close(w)
		}
	})
}
