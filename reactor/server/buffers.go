//go:build linux

package server

import "math/bits"

// bufferPool holds the free buffers of a loop, by size: powers of two. Connections have buffers only while something is
// unsent or unread.
type bufferPool struct {
	free  [maxClass - minClass + 1][][]byte
	bytes int // in free
}

const (
	minClass   = 9       // 512 B
	maxClass   = 20      // 1 MiB; larger ones are the garbage collector's
	poolLimit  = 8 << 20 // bytes that are kept
	smallPiece = 4 << 10 // as much is copied rather than sent as a separate piece
)

func classOf(n int) int { return max(bits.Len(uint(max(n, 1)-1)), minClass) }

// get returns an empty buffer for at least n bytes.
func (p *bufferPool) get(n int) []byte {
	class := classOf(n)
	if class > maxClass {
		return make([]byte, 0, n)
	}
	list := &p.free[class-minClass]
	if last := len(*list) - 1; last >= 0 {
		b := (*list)[last]
		(*list)[last] = nil
		*list = (*list)[:last]
		p.bytes -= cap(b)
		return b
	}
	return make([]byte, 0, 1<<class)
}

// put takes a buffer back. b begins where get's result began, and has its capacity, or is nil.
func (p *bufferPool) put(b []byte) {
	n := cap(b)
	if n < 1<<minClass || n > 1<<maxClass || n&(n-1) != 0 || p.bytes+n > poolLimit {
		return
	}
	list := &p.free[classOf(n)-minClass]
	*list = append(*list, b[:0])
	p.bytes += n
}
