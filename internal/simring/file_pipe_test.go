package simring_test

import (
	"os/signal"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

func init() { signal.Ignore(unix.SIGPIPE) }

func TestPipe(t *testing.T) {
	onBoth(t, func(m *machine) {
		r, w := m.pipe(unix.O_CLOEXEC)
		m.value(5, m.write(w, "bytes", 0))
		m.reads("by", r, 2, 0)
		m.reads("tes", r, 9, 0)
		m.fails(unix.EBADF, m.write(r, "x", 0))
		buf := make([]byte, 4)
		p, n := m.mem(buf)
		id := m.start(func(s *uring.SQE) { s.PrepRead(r, p, n, 0) })
		m.pending(id)
		m.close(w)
		m.value(0, int(m.take(id).Res))
		m.close(r)
		r, w = m.pipe(unix.O_CLOEXEC)
		m.close(r)
		m.fails(unix.EPIPE, m.write(w, "x", 0))
		m.close(w)
	})
}

func TestSplice(t *testing.T) {
	onBoth(t, func(m *machine) {
		r, w := m.pipe(unix.O_NONBLOCK)
		r2, w2 := m.pipe(unix.O_NONBLOCK)
		a, b := m.pair(unix.AF_INET)
		const stream = uring.FilePosition
		splice := func(from, to int) int {
			m.Helper()
			return m.do(func(s *uring.SQE) { s.PrepSplice(from, stream, to, stream, 100, unix.SPLICE_F_NONBLOCK) })
		}
		m.fails(unix.EAGAIN, splice(r, w2))
		m.value(5, m.write(w, "bytes", 0))
		m.value(5, m.do(func(s *uring.SQE) { s.PrepTee(r, w2, 100, 0) }))
		m.reads("bytes", r2, 9, 0)
		m.value(5, splice(r, a))
		m.gets("bytes", b, 9, 0)
		m.value(4, m.send(a, "back", 0))
		m.take(m.start(func(s *uring.SQE) { s.PrepPollAdd(b, unix.POLLIN) })) // until it has arrived
		m.value(4, splice(b, w))
		m.value(4, splice(r, w2))
		m.reads("back", r2, 9, 0)
		m.fails(unix.EINVAL, splice(a, b))
		m.fails(unix.EINVAL, splice(r, w))
		m.fails(unix.ESPIPE, m.do(func(s *uring.SQE) { s.PrepSplice(r, 0, a, stream, 100, 0) }))
		m.close(w)
		m.value(0, splice(r, w2))
		m.close(r, r2)
		m.fails(unix.EPIPE, m.do(func(s *uring.SQE) { s.PrepSplice(b, stream, w2, stream, 100, unix.SPLICE_F_NONBLOCK) }))
		m.close(w2, a, b)
	})
}
