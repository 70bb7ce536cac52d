package proxy

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
)

// targets are the backends of a route that have a weight.
type targets []target

// target is a backend of a route.
type target struct {
	backend *upstream.Backend
	sum     uint64 // of the weights up to and including its own
}

// newTargets fails if there is no such backend.
func newTargets(c *config.Route, backends map[string]*upstream.Backend) (t targets, err error) {
	all := c.Targets()
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no backend %q", c.Backend)
	}
	sum := uint64(0)
	for _, w := range all {
		to := backends[w.Backend]
		if to == nil {
			return nil, fmt.Errorf("there is no backend %q", w.Backend)
		}
		if w.Weight > 0 {
			sum += uint64(w.Weight)
			t = append(t, target{to, sum})
		}
	}
	return t, nil
}

// draw draws a backend by the weights; nil: none has one.
func (t targets) draw(random *rand.PCG) *upstream.Backend {
	switch len(t) {
	case 0:
		return nil
	case 1:
		return t[0].backend
	}
	point, _ := bits.Mul64(random.Uint64(), t[len(t)-1].sum)
	for i := range t {
		if point < t[i].sum {
			return t[i].backend
		}
	}
	return nil // it cannot be: the last sum is greater than each point
}
