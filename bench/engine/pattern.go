package engine

import "math/rand/v2"

// Pattern is the stream of bytes that every connection sends and expects back: random bytes from a seed, which repeat
// after a period. Connections begin at different places of it. Messages are slices of it, not copies.
type Pattern struct {
	bytes  []byte // one period, and its beginning again, so that every message is one slice
	period int
}

// The periods are odd, so that a buffer that was swapped, lost or sent twice is detected. The long one is for loads
// that are verified. The short one stays in the CPU cache.
const (
	longPeriod  = 1<<20 - 1
	shortPeriod = 32<<10 - 1
)

// NewPattern returns a pattern whose slices may have up to maxPiece bytes.
func NewPattern(seed uint64, long bool, maxPiece int) *Pattern {
	p := &Pattern{period: shortPeriod}
	if long {
		p.period = longPeriod
	}
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	p.bytes = make([]byte, p.period+maxPiece)
	rand.NewChaCha8(key).Read(p.bytes[:p.period])
	for n := p.period; n < len(p.bytes); n *= 2 {
		copy(p.bytes[n:], p.bytes[:n])
	}
	return p
}

// At returns n bytes of the stream from the place at on. n is at most maxPiece.
func (p *Pattern) At(at int64, n int) []byte {
	if at >= int64(p.period) {
		at %= int64(p.period)
	}
	return p.bytes[at : int(at)+n]
}

// after returns the place n bytes after at, within the first period. So At needs no division.
func (p *Pattern) after(at int64, n int) int64 {
	if at += int64(n); at >= int64(p.period) {
		at %= int64(p.period)
	}
	return at
}

// first returns the place at which connection i begins.
func (p *Pattern) first(i int) int64 { return int64(i) * 7919 % int64(p.period) }
