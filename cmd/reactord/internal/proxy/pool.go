package proxy

// pool keeps Ts that are not in use. The last one put back is the first one taken, because it is in the cache.
type pool[T any] struct{ free []*T }

// maxFree is how many unused Ts a pool keeps.
const maxFree = 256

// get takes a T, which is zeroed or was passed to keep.
func (p *pool[T]) get() *T {
	if n := len(p.free); n != 0 {
		t := p.free[n-1]
		p.free = p.free[:n-1]
		return t
	}
	return new(T)
}

// put takes t back and clears it, so that it does not keep its last connection alive.
func (p *pool[T]) put(t *T) {
	*t = *new(T)
	p.keep(t)
}

// keep takes t back, which the caller has cleared of references to connections.
func (p *pool[T]) keep(t *T) {
	if len(p.free) < maxFree {
		p.free = append(p.free, t)
	}
}
