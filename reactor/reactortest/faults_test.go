package reactortest_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor/reactortest"
)

// Faults has all faults of the simulated kernel, and no others.
func TestFaultsAreThoseOfTheKernel(t *testing.T) {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[reactortest.Faults]()) {
		names = append(names, f.Name)
	}
	if want := (simring.Odds{}).Faults(); !slices.Equal(names, want) {
		t.Errorf("there are the faults %q, want %q", names, want)
	}
}

// The seed draws faults, seed 0 has none, and a program can change them.
func TestFaults(t *testing.T) {
	drawn := map[reactortest.Faults]bool{}
	reactortest.Run(t, func(m *reactortest.Machine) {
		f := m.Faults()
		drawn[f] = true
		if none := f == (reactortest.Faults{}); none != (m.Seed() == 0) {
			t.Errorf("seed %d has the faults %+v", m.Seed(), f)
		}
		m.SetFaults(reactortest.Faults{IOError: 0.5})
		m.SetLimits(reactortest.Limits{Disk: 1000})
		other := m.NewMachine("other")
		if f := other.Faults(); f != (reactortest.Faults{IOError: 0.5}) {
			t.Errorf("another machine has %+v", f)
		}
		if l := other.Limits(); l.Disk != 1000 || l.SocketBuffer < 4096 {
			t.Errorf("another machine has %+v", l)
		}
	})
	if len(drawn) < 10 {
		t.Errorf("the seeds draw %d kinds of faults", len(drawn))
	}
}
