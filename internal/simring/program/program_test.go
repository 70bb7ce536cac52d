package program_test

import (
	"testing"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/simring/program"
)

// A failing seed is played again, with a trace, by
// go run ./internal/simring/explore -program NAME -from SEED -seeds 1 -trace.
func TestPrograms(t *testing.T) {
	for name, p := range program.All {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(300) {
				if err := simring.Play(p, seed, simring.Flawless, nil); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// What a ring does wrong is found.
func TestFlawsAreFound(t *testing.T) {
	for _, flaw := range simring.Flaws {
		t.Run(string(flaw), func(t *testing.T) {
			for seed := range uint64(300) {
				if err := simring.Play(program.Echo, seed, flaw, nil); err != nil {
					t.Logf("found by seed %d", seed)
					return
				}
			}
			t.Error("it was not found")
		})
	}
}
