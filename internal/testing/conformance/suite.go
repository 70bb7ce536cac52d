package conformance

import (
	"testing"

	"github.com/reactord/reactord/reactor"
)

// Suite is the suite on one machine.
type Suite struct {
	// On is the machine, and the ring of its loops.
	On Machine
	// Leftover describes what a loop holds that it should not, after all operations have completed; "" if nothing. If
	// it is nil, that is not checked.
	Leftover func(*reactor.Loop) string
}

// Run plays every case of the table as a sub-test named operation/situation.
func (u Suite) Run(t *testing.T) {
	for _, r := range table {
		t.Run(r.name, func(t *testing.T) {
			for _, how := range situations {
				cell, ok := r.cells[how.name]
				if !ok {
					t.Errorf("the table has no cell for %s/%s", r.name, how.name)
					continue
				}
				if cell.why != "" {
					continue
				}
				t.Run(how.name, func(t *testing.T) {
					u.On.each(t, func(t *testing.T, h host) {
						if why := h.lacks(cell); why != "" {
							t.Skip(why)
						}
						u.play(t, h, r, how, cell)
					})
				})
			}
			for name := range r.cells {
				if !known(name) {
					t.Errorf("the table has a cell for an unknown situation: %s/%s", r.name, name)
				}
			}
		})
	}
}

func known(name string) bool {
	for _, how := range situations {
		if how.name == name {
			return true
		}
	}
	return false
}

func (u Suite) play(t *testing.T, h host, r row, how situation, cell expectation) {
	before := h.descriptors()
	s := u.open(t, h)
	x := r.subject(s, how.blocked && r.waits)
	how.play(s, x)
	h.accepts(how, cell).check(t, x)
	if x.intact != nil && !t.Failed() {
		x.intact()
	}
	s.end()
	if after := h.descriptors(); after != before {
		t.Errorf("%d descriptors were open before and %d are now", before, after)
	}
}
