package simring_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

func TestCancel(t *testing.T) {
	onBoth(t, func(m *machine) {
		a, b := m.pair(unix.AF_INET)
		buf := make([]byte, 4)
		p, n := m.mem(buf)
		recv := func(fd int) uint64 { return m.start(func(s *uring.SQE) { s.PrepRecv(fd, p, n, 0) }) }
		poll := func(fd int) uint64 {
			return m.start(func(s *uring.SQE) { s.PrepPollMultishot(fd, unix.POLLIN) })
		}
		cancel := func(want int, prep func(*uring.SQE), over []uint64, left ...uint64) {
			m.Helper()
			m.value(want, m.do(prep))
			for _, id := range over {
				m.fails(unix.ECANCELED, int(m.take(id).Res))
			}
			m.pending(left...)
		}
		x, y, z := recv(a), recv(b), poll(b)
		cancel(0, func(s *uring.SQE) { s.PrepCancel(x) }, []uint64{x}, y, z)
		cancel(-int(unix.ENOENT), func(s *uring.SQE) { s.PrepCancel(x) }, nil, y, z)
		cancel(2, func(s *uring.SQE) { s.PrepCancelFd(b, uring.CancelAll) }, []uint64{y, z})
		cancel(0, func(s *uring.SQE) { s.PrepCancelFd(b, uring.CancelAll) }, nil)
		cancel(-int(unix.EBADF), func(s *uring.SQE) { s.PrepCancelFd(1<<29, 0) }, nil)
		x, y, z = recv(a), recv(b), poll(b)
		byOp := func(op uring.Op) func(*uring.SQE) {
			return func(s *uring.SQE) { s.PrepCancel(0); s.OpFlags, s.Len = uring.CancelAll|uring.CancelOp, uint32(op) }
		}
		cancel(2, byOp(uring.OpRecv), []uint64{x, y}, z)
		x, y = recv(a), recv(b)
		cancel(0, byOp(uring.OpSend), nil, x, y)
		cancel(-int(unix.ENOENT), func(s *uring.SQE) { s.PrepCancelFd(a, uring.CancelUserData); s.Addr = y }, nil, x, y)
		cancel(-int(unix.EINVAL), func(s *uring.SQE) { s.PrepCancelFd(a, uring.CancelAny) }, nil, x, y)
		both := func(s *uring.SQE) {
			s.PrepCancelFd(a, uring.CancelAll|uring.CancelOp)
			s.Len = uint32(uring.OpRecv)
		}
		cancel(1, both, []uint64{x}, y)
		m.value(0, m.do(func(s *uring.SQE) { s.PrepPollRemove(z) }))
		m.fails(unix.ECANCELED, int(m.take(z).Res))
		m.fails(unix.ENOENT, m.do(func(s *uring.SQE) { s.PrepPollRemove(z) }))
		m.start(func(s *uring.SQE) { s.PrepCancelAny() })
		m.fails(unix.ECANCELED, int(m.take(y).Res))
		m.close(a, b)
	})
}
