package history

// Distances of points, and how many are kept.
const (
	finePoints   = 300 // of a second each
	coarsePoints = 360
	coarseStep   = 10 // seconds
)

// unknown is a point that is not known.
const unknown = -1

// ring holds the last points of a quantity. All points are unknown at first.
type ring struct {
	points []float32
	next   int
}

func newRing(size int) ring {
	r := ring{points: make([]float32, size)}
	for i := range r.points {
		r.points[i] = unknown
	}
	return r
}

func (r *ring) push(p float32) {
	r.points[r.next] = p
	r.next = (r.next + 1) % len(r.points)
}

// read returns a copy, the most recent point last.
func (r *ring) read() []float32 {
	return append(append(make([]float32, 0, len(r.points)), r.points[r.next:]...), r.points[:r.next]...)
}

// mean gathers points into one of a greater distance.
type mean struct {
	sum, most float64
	n         int
}

func (m *mean) add(p float64) {
	if p == unknown {
		return
	}
	m.sum += p
	m.most = max(m.most, p)
	m.n++
}

// take returns the average of the points, or the greatest, and begins anew.
func (m *mean) take(most bool) float32 {
	taken := *m
	*m = mean{}
	switch {
	case taken.n == 0:
		return unknown
	case most:
		return float32(taken.most)
	}
	return float32(taken.sum / float64(taken.n))
}

// window counts events of the last minute, by buckets of [coarseStep] seconds.
type window [60 / coarseStep]uint32

func (w *window) add(n uint64) { w[0] += uint32(min(n, 1<<31)) }

// turn forgets the oldest bucket, and begins another one.
func (w *window) turn() {
	copy(w[1:], w[:len(w)-1])
	w[0] = 0
}

func (w *window) sum() (n uint64) {
	for _, c := range w {
		n += uint64(c)
	}
	return n
}
