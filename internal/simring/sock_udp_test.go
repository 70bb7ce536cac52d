package simring_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

func TestDatagrams(t *testing.T) {
	onBoth(t, func(m *machine) {
		a, b := m.socket(unix.AF_INET, unix.SOCK_DGRAM), m.socket(unix.AF_INET, unix.SOCK_DGRAM)
		to, from := m.port(a, inet), m.port(b, inet)
		m.fails(unix.EDESTADDRREQ, m.send(b, "unsent", 0))
		addr, _ := m.mem(inet(to))
		p, n := m.mem([]byte("sent to"))
		m.value(7, m.do(func(s *uring.SQE) { s.PrepSend(b, p, n, 0); s.To(addr, 16) }))
		name := make([]byte, 16)
		h := newMsghdr(m, name, nil, make([]byte, 16))
		recvmsg := func(s *uring.SQE) { s.PrepRecvmsg(a, h.pointer(), 0) }
		m.value(7, m.do(recvmsg))
		if string(name) != string(inet(from)) || string(h.data[:7]) != "sent to" || h.Flags != 0 {
			m.Errorf("received %q from % x, flags %#x", h.data, name, h.Flags)
		}
		m.value(0, m.connect(b, inet(to)))
		m.value(20, m.send(b, strings.Repeat("cut off ", 3)[:20], 0))
		m.value(16, m.do(recvmsg))
		if h.Flags != unix.MSG_TRUNC {
			m.Errorf("flags %#x of a message that was cut off", h.Flags)
		}
		m.value(9, m.send(b, "its size", 0)+1)
		_, res := m.recv(a, 3, unix.MSG_TRUNC)
		m.value(8, res)
		m.value(1, m.send(b, "x", 0))
		m.gets("x", a, 9, unix.MSG_PEEK)
		m.gets("x", a, 9, 0)
		m.value(0, m.send(b, "", 0))
		m.gets("", a, 9, 0)
		_, res = m.recv(a, 9, unix.MSG_DONTWAIT)
		m.fails(unix.EAGAIN, res)
		m.fails(unix.EMSGSIZE, m.send(b, strings.Repeat("too long", 1<<13), 0))
		m.fails(unix.EOPNOTSUPP, m.listen(a, 1))
		m.close(a)
		m.value(4, m.send(b, "gone", 0))
		id := m.start(func(s *uring.SQE) { s.PrepPollAdd(b, unix.POLLIN) })
		m.take(id)
		_, res = m.recv(b, 9, 0)
		m.fails(unix.ECONNREFUSED, res)
		m.close(b)
	})
}
