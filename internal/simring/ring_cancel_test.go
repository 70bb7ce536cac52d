package simring_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// A cancel names its target by the user_data, and completes with 0, or with ENOENT if there is no such entry.
func TestCancel(t *testing.T) {
	onBoth(t, func(m *machine) {
		a, b := m.pair(unix.AF_INET)
		p, n := m.mem(make([]byte, 4))
		recv := func(fd int) uint64 { return m.start(func(s *uring.SQE) { s.PrepRecv(fd, p, n, 0) }) }
		x, y := recv(a), recv(b)
		z := m.start(func(s *uring.SQE) { s.PrepPollMultishot(b, unix.POLLIN) })
		cancel := func(want int, target uint64, left ...uint64) {
			m.Helper()
			m.value(want, m.do(func(s *uring.SQE) { s.PrepCancel(target) }))
			if want == 0 {
				m.fails(unix.ECANCELED, int(m.take(target).Res))
			}
			m.pending(left...)
		}
		cancel(0, x, y, z)
		cancel(-int(unix.ENOENT), x, y, z)
		cancel(0, z, y)
		cancel(0, y)
		m.close(a, b)
	})
}
