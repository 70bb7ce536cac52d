package pool

// Of keeps Ts. The zero value is ready for use.
type Of[T any] struct {
	// Limit is the maximum number of unused Ts that are kept. 0: 256.
	Limit int
	free  []*T
}

const defaultLimit = 256

// Get takes a T, which is zeroed or was passed to [Of.Keep].
func (p *Of[T]) Get() *T {
	if n := len(p.free); n != 0 {
		t := p.free[n-1]
		p.free = p.free[:n-1]
		return t
	}
	return new(T)
}

// Put takes t back and clears it, so that it keeps alive nothing that it refers to.
func (p *Of[T]) Put(t *T) {
	*t = *new(T)
	p.Keep(t)
}

// Keep takes t back, which the caller has cleared of references.
func (p *Of[T]) Keep(t *T) {
	limit := p.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	if len(p.free) < limit {
		p.free = append(p.free, t)
	}
}

// Len returns the number of unused Ts.
func (p *Of[T]) Len() int { return len(p.free) }
