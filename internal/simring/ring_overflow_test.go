package simring_test

import (
	"testing"

	"github.com/reactord/reactord/uring"
)

// More completions than the queue holds are not lost, and are counted.
func TestOverflow(t *testing.T) {
	const few, many = 100, 5000
	onBoth(t, func(m *machine) {
		for _, n := range []int{few, many} {
			for range n {
				m.start(func(s *uring.SQE) { s.PrepNop() })
			}
			left := n
			for cqe := (uring.CQE{}); left != 0; m.must(m.ring.Enter(0)) {
				for m.ring.Pop(&cqe) {
					left--
				}
			}
			if overflows := m.ring.Overflows(); (overflows != 0) != (n == many) {
				m.Errorf("after %d completions there were %d overflows", n, overflows)
			}
		}
	})
}
