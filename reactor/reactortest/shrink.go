package reactortest

import (
	"slices"
	"strings"
	"testing"

	"github.com/reactord/reactord/internal/simring"
)

// allowed returns the faults that the flag allows; nil for all.
func allowed(t *testing.T) []string {
	t.Helper()
	switch *faultsFlag {
	case "all":
		return nil
	case "none":
		return []string{}
	}
	faults, known := strings.Split(*faultsFlag, ","), simring.Odds{}.Faults()
	for _, name := range faults {
		if !slices.Contains(known, name) {
			t.Fatalf("reactortest: -reactortest.faults: there is no fault %q: there are %s", name, strings.Join(known, ","))
		}
	}
	return faults
}

// shrink reports a shorter run with fewer kinds of faults that fails as a seed has failed.
func (p *player) shrink(seed uint64, err error) {
	p.t.Helper()
	was := simring.Failure{Seed: seed, Faults: p.drawn}
	was.Steps, _ = p.fails(seed, was.Faults)
	r := was.Shrink(err, p.fails)
	p.t.Logf("reactortest: shrunk from %d steps with %d kinds of faults to %d steps with %d:\n\t%s",
		was.Steps, len(was.Faults), r.Steps, len(r.Faults), command(p.t.Name(), r.Seed, r.Faults))
}

// fails plays a seed with some faults, and returns how long it took to fail, if it did.
func (p *player) fails(seed uint64, faults []string) (steps int, err error) {
	defer func(all []string) { p.faults = all }(p.faults)
	p.faults = faults
	var counted simring.StepCounter
	err = p.play(seed, &counted)
	return int(counted), err
}
