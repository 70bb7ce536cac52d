//go:build linux

package netconn

import (
	"math"
	"sync/atomic"
)

// usage counts the goroutines that use a descriptor, so that it is not closed under one of them.
//
//	open → ending   end
//	ending → ended  no goroutine uses it
type usage struct {
	n atomic.Int32 // users; from the end on, MinInt32 more
}

// begin adds a user, or reports false if it has ended.
func (u *usage) begin() bool {
	for {
		n := u.n.Load()
		if n < 0 {
			return false
		}
		if u.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// done removes a user. It reports true to the last one, which has to close the descriptor.
func (u *usage) done() (last bool) { return u.n.Add(-1) == math.MinInt32 }

// end lets no further user begin; ok is false if that was so already. last is as of done.
func (u *usage) end() (last, ok bool) {
	for {
		n := u.n.Load()
		if n < 0 {
			return false, false
		}
		if u.n.CompareAndSwap(n, n+math.MinInt32) {
			return n == 0, true
		}
	}
}

// over reports whether it is ending, or has ended.
func (u *usage) over() bool { return u.n.Load() < 0 }
