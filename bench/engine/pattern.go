package engine

import "math/rand/v2"

// Pattern is the stream that every connection sends, and expects back: seeded random bytes that repeat
// after period bytes. Connections begin at different places of it. What is sent is cut from it, never
// copied.
type Pattern struct {
	bytes  []byte // period bytes and their beginning once more, so that a message is one piece
	period int
}

// The periods are odd, so that no buffer that was swapped, lost or sent twice fits. The long one is for what
// is verified all the time; the short one stays in the cache.
const (
	longPeriod  = 1<<20 - 1
	shortPeriod = 32<<10 - 1
)

// NewPattern is a pattern of which a piece may have up to maxPiece bytes.
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

// At is n bytes of the stream from the place at on, n at most maxPiece.
func (p *Pattern) At(at int64, n int) []byte {
	if at >= int64(p.period) {
		at %= int64(p.period)
	}
	return p.bytes[at : int(at)+n]
}

// after is the place n bytes after at, within the first period: so nothing has to be divided for it.
func (p *Pattern) after(at int64, n int) int64 {
	if at += int64(n); at >= int64(p.period) {
		at %= int64(p.period)
	}
	return at
}

// first is where connection i begins.
func (p *Pattern) first(i int) int64 { return int64(i) * 7919 % int64(p.period) }
