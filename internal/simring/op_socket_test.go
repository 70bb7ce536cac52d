package simring_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

func TestStream(t *testing.T) {
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		onBoth(t, func(m *machine) {
			a, b := m.pair(family)
			m.value(5, m.send(a, "hello", 0))
			m.gets("hel", b, 3, 0)
			m.gets("lo", b, 10, unix.MSG_PEEK)
			m.gets("lo", b, 10, 0)
			_, res := m.recv(b, 10, unix.MSG_DONTWAIT)
			m.fails(unix.EAGAIN, res)
			m.shutdownWrite(a)
			m.gets("", b, 10, 0)
			m.value(4, m.send(b, "back", 0))
			m.gets("back", a, 10, 0)
			m.fails(unix.EPIPE, m.send(a, "more", 0))
			m.close(a, b)
		})
	}
}

// MSG_WAITALL waits until the room is full, or until the end.
func TestWaitAll(t *testing.T) {
	onBoth(t, func(m *machine) {
		a, b := m.pair(unix.AF_INET)
		buf := make([]byte, 8)
		p, n := m.mem(buf)
		recv := func(s *uring.SQE) { s.PrepRecv(b, p, n, unix.MSG_WAITALL) }
		id := m.start(recv)
		m.value(4, m.send(a, "half", 0))
		m.pending(id)
		m.value(4, m.send(a, "done", 0))
		m.value(8, int(m.take(id).Res))
		if string(buf) != "halfdone" {
			m.Errorf("received %q", buf)
		}
		id = m.start(recv)
		m.value(3, m.send(a, "end", 0))
		m.pending(id)
		m.shutdownWrite(a)
		m.value(3, int(m.take(id).Res))
		m.close(a, b)
	})
}

// A connection that is closed with bytes unread is reset.
func TestReset(t *testing.T) {
	onBoth(t, func(m *machine) {
		a, b := m.pair(unix.AF_INET)
		m.value(6, m.send(a, "unread", 0))
		m.gets("u", b, 1, 0)
		m.close(b)
		id := m.start(func(s *uring.SQE) { s.PrepPollAdd(a, unix.POLLRDHUP) })
		if events := m.take(id).Res; events&unix.POLLRDHUP == 0 {
			m.Errorf("events %#x", events)
		}
		_, res := m.recv(a, 1, 0)
		m.fails(unix.ECONNRESET, res)
		m.gets("", a, 1, 0)
		m.fails(unix.EPIPE, m.send(a, "x", 0))
		m.close(a)
	})
}

func TestConnectErrors(t *testing.T) {
	onBoth(t, func(m *machine) {
		a := m.socket(unix.AF_INET, unix.SOCK_STREAM)
		port := m.port(a, inet) // there is no listener
		b := m.socket(unix.AF_INET, unix.SOCK_STREAM)
		m.fails(unix.ECONNREFUSED, m.connect(b, inet(port)))
		m.fails(unix.EPIPE, m.send(b, "x", 0))
		m.gets("", b, 1, 0)
		m.fails(unix.EINVAL, m.do(func(s *uring.SQE) { s.PrepAccept(b, 0) }))
		m.fails(unix.EADDRINUSE, m.bind(b, inet(port)))
		m.close(b)
		b = m.socket(unix.AF_INET, unix.SOCK_STREAM)
		m.value(0, m.listen(a, 4))
		m.value(0, m.connect(b, inet(port)))
		m.fails(unix.EISCONN, m.connect(b, inet(port)))
		m.close(a)
		_, res := m.recv(b, 1, 0)
		m.fails(unix.ECONNRESET, res)
		m.close(b)
		_, err := m.sys.Socket(99, unix.SOCK_STREAM, 0)
		m.fails(unix.EAFNOSUPPORT, failure(err))
	})
}

// msghdr is a struct msghdr with its memory.
type msghdr struct {
	unix.Msghdr
	name, control, data []byte
	iov                 unix.Iovec
}

func newMsghdr(m *machine, name, control, data []byte) *msghdr {
	h := &msghdr{name: name, control: control, data: data}
	h.iov.Base = unsafe.SliceData(data)
	h.iov.SetLen(len(data))
	h.Iov = &h.iov
	h.SetIovlen(1)
	if len(name) != 0 {
		h.Name, h.Namelen = &name[0], uint32(len(name))
	}
	if len(control) != 0 {
		h.Control = &control[0]
		h.SetControllen(len(control))
	}
	m.keep = append(m.keep, h)
	return h
}

func (h *msghdr) pointer() unsafe.Pointer { return unsafe.Pointer(&h.Msghdr) }

// A multishot receive of messages puts them behind their header into provided buffers.
func TestRecvmsgMultishot(t *testing.T) {
	onBoth(t, func(m *machine) {
		a, b := m.socket(unix.AF_INET, unix.SOCK_DGRAM), m.socket(unix.AF_INET, unix.SOCK_DGRAM)
		to, from := m.port(a, inet), m.port(b, inet)
		m.value(0, m.connect(b, inet(to)))
		mem := make([]byte, 4*64)
		m.keep = append(m.keep, mem)
		m.must(m.ring.RegisterBuffers(0, mem, 64))
		for id := range uint16(4) {
			m.ring.ProvideBuffer(0, id)
		}
		h := newMsghdr(m, make([]byte, 16), nil, nil)
		h.Iov, h.Iovlen = nil, 0
		id := m.start(func(s *uring.SQE) { s.PrepRecvmsgMultishot(a, 0, h.pointer(), 0) })
		for _, data := range []string{"short", strings.Repeat("long", 20)} {
			m.value(len(data), m.send(b, data, 0))
			cqe := m.take(id)
			fits := min(len(data), 64-32)
			m.value(32+fits, int(cqe.Res))
			buf, ok := cqe.BufferID()
			if !cqe.More() || !ok {
				m.Fatalf("a completion with flags %#x", cqe.Flags)
			}
			got := mem[64*int(buf):][:64]
			flags := uint32(0)
			if fits < len(data) {
				flags = unix.MSG_TRUNC
			}
			for i, want := range []uint32{16, 0, uint32(fits), flags} {
				if v := binary.NativeEndian.Uint32(got[4*i:]); v != want {
					m.Errorf("word %d of the header is %#x, not %#x", i, v, want)
				}
			}
			if string(got[16:32]) != string(inet(from)) || string(got[32:][:fits]) != data[:fits] {
				m.Errorf("received % x", got)
			}
		}
		m.value(0, m.send(b, "", 0)) // ends it
		cqe := m.take(id)
		if _, ok := cqe.BufferID(); cqe.Res != 32 || cqe.More() || !ok {
			m.Errorf("an empty message: %+v", cqe)
		}
		m.close(a, b)
	})
}

// A zero-copy send completes twice, whether it succeeds or not.
func TestZeroCopy(t *testing.T) {
	onBoth(t, func(m *machine) {
		a, b := m.pair(unix.AF_INET)
		p, n := m.mem([]byte("zero"))
		twice := func(want int, prep func(*uring.SQE)) {
			m.Helper()
			id := m.start(prep)
			first := m.take(id)
			m.value(want, int(first.Res))
			if !first.More() {
				m.Errorf("flags %#x of the first completion", first.Flags)
				return
			}
			if second := m.take(id); second.Flags&(uring.CQENotif|uring.CQEMore) != uring.CQENotif {
				m.Errorf("flags %#x of the second", second.Flags)
			}
		}
		twice(4, func(s *uring.SQE) { s.PrepSendZC(a, p, n, unix.MSG_NOSIGNAL, 0) })
		m.gets("zero", b, 9, 0)
		h := newMsghdr(m, nil, nil, []byte("copy"))
		twice(4, func(s *uring.SQE) { s.PrepSendmsgZC(a, h.pointer(), unix.MSG_NOSIGNAL, 0) })
		m.gets("copy", b, 9, 0)
		m.shutdownWrite(a)
		twice(-int(unix.EPIPE), func(s *uring.SQE) { s.PrepSendZC(a, p, n, unix.MSG_NOSIGNAL, 0) })
		m.close(a, b)
		c := m.socket(unix.AF_UNIX, unix.SOCK_DGRAM)
		twice(-int(unix.EOPNOTSUPP), func(s *uring.SQE) { s.PrepSendZC(c, p, n, unix.MSG_NOSIGNAL, 0) })
		m.close(c)
	})
}
