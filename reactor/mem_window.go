//go:build linux

package reactor

import "math"

// window is how many buffers the ring should have. It grows when receives find none, and shrinks when half of it is
// not needed.
type window struct {
	target int
	least  int // the configured window
	unused int // the fewest buffers that were in the ring since the window was last judged; math.MaxInt: none was leased
	turns  int // until it is judged again
}

const (
	// maxWindow is how far a window grows. More buffers would not stay in any cache, and the buffers in the ring
	// cannot be taken back.
	maxWindow = 256
	// judgeEvery is how many turns of the loop pass before the window is judged again.
	judgeEvery = 4096
)

func newWindow(target int) window {
	return window{target: target, least: target, unused: math.MaxInt, turns: judgeEvery}
}

// leased notes that a buffer was leased, and how many are left in the ring.
func (w *window) leased(left int) { w.unused = min(w.unused, left) }

// ranOut lets the window grow because a receive found no buffer. left is how many the ring has, and limit how many
// there can be.
func (w *window) ranOut(left, limit int) {
	if left <= w.target/2 {
		w.target = max(w.target, min(2*w.target, maxWindow, limit))
	}
	w.unused = 0
}

// countTurn is called once a turn.
func (w *window) countTurn() {
	if w.turns--; w.turns <= 0 {
		w.judge()
	}
}

// judge lets the window shrink if half of it was not needed.
func (w *window) judge() {
	if w.unused > w.target/2 && w.unused != math.MaxInt {
		w.shrink()
	}
	w.turns, w.unused = judgeEvery, math.MaxInt
}

// judgeIdle is judge for a loop that may be idle: if it has leased no buffer, its window shrinks as well.
func (w *window) judgeIdle() {
	if w.unused == math.MaxInt {
		w.shrink()
	} else {
		w.judge()
	}
}

func (w *window) shrink() { w.target = max(w.target/2, w.least) }
