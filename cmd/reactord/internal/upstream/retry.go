package upstream

import (
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// retryBudget limits the retries of a backend to a share of its connections.
type retryBudget struct {
	connections, retries window // on separate cache lines
	refused              atomic.Uint64
}

// take takes a retry from the budget, or from its part-th part: with part 2 half of the budget is left for others.
// Loops that compete for the last retry may all be refused.
func (r *retryBudget) take(now int64, c *config.RetryBudget, part int64) bool {
	if c.Percent == 0 {
		return true
	}
	second, inWindow := r.retries.add(now), r.retries.sum(now)
	if part*second <= int64(c.Min) || part*inWindow*100 <= r.connections.sum(now)*int64(c.Percent) {
		return true
	}
	r.retries.undo(now)
	r.refused.Add(1)
	return false
}

// window counts the events of the last windowSeconds seconds.
type window struct {
	_     [64]byte
	slots [16]atomic.Int64 // the second in the upper half, its events in the lower
	_     [64]byte
}

const (
	windowSeconds = 10
	countBits     = 32
	countMask     = 1<<countBits - 1
)

func (w *window) slot(second int64) *atomic.Int64 { return &w.slots[second%int64(len(w.slots))] }

// add counts an event, and returns the number of events in its second.
func (w *window) add(now int64) int64 {
	second := now / 1e9
	slot := w.slot(second)
	for {
		v := slot.Load()
		if v>>countBits == second&countMask>>1 {
			return slot.Add(1) & countMask
		}
		if slot.CompareAndSwap(v, second&countMask>>1<<countBits|1) {
			return 1
		}
	}
}

// undo removes an event added now.
func (w *window) undo(now int64) { w.slot(now / 1e9).Add(-1) }

// sum returns the number of events in the last seconds, including this one.
func (w *window) sum(now int64) (n int64) {
	for second := now/1e9 - windowSeconds + 1; second <= now/1e9; second++ {
		if second < 0 {
			continue
		}
		if v := w.slot(second).Load(); v>>countBits == second&countMask>>1 {
			n += v & countMask
		}
	}
	return n
}
