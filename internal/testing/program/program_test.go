package program_test

import (
	"bytes"
	"testing"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
)

// A failing seed is played again, with a trace, by
//
//	go run ./internal/testing/explore -program NAME -from SEED -seeds 1 -trace
func TestPrograms(t *testing.T) {
	for name, p := range program.All {
		t.Run(name, func(t *testing.T) {
			for seed := range testenv.Seeds(300) {
				if err := simring.Play(p, seed, simring.Flawless, nil); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// Each flaw is found by each of the programs that it concerns.
func TestFlawsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("many simulated runs")
	}
	finders := map[simring.Flaw][]string{
		simring.LoseNotifications:     {"tasks", "loops"},
		simring.LoseCancels:           {"tasks", "echo", "loops"},
		simring.LoseWrites:            {"files"},
		simring.WrongSender:           {"datagrams"},
		simring.Oversleep:             {"timers"},
		simring.LoseReadiness:         {"files"},
		simring.LoseAccepts:           {"echo", "loops", "tasks"},
		simring.LoseSplicedBytes:      {"files"},
		simring.TeeConsumes:           {"files"},
		simring.SkipDirents:           {"files"},
		simring.LoseEventCounts:       {"events"},
		simring.LoseExits:             {"events"},
		simring.LosePassedDescriptors: {"descriptors"},
	}
	for _, flaw := range simring.Flaws {
		finders[flaw] = []string{"echo", "loops"}
		if flaw != simring.LoseBytes { // tasks cancel when they no longer care
			finders[flaw] = append(finders[flaw], "tasks")
		}
	}
	for _, flaw := range append(simring.FurtherFlaws, simring.Flaws...) {
		for _, name := range finders[flaw] {
			t.Run(string(flaw)+"/"+name, func(t *testing.T) {
				for seed := range uint64(3000) { // the rarest is found by one in 200
					if err := simring.Play(program.All[name], seed, flaw, nil); err != nil {
						t.Logf("found by seed %d", seed)
						return
					}
				}
				t.Error("it was not found")
			})
		}
		if len(finders[flaw]) == 0 {
			t.Errorf("no program looks for %q", flaw)
		}
	}
}

// A run is a function of its seed, to the last step.
func TestSeedsReproduce(t *testing.T) {
	for name, p := range program.All {
		for seed := range testenv.Seeds(20) {
			var first, second bytes.Buffer
			_ = simring.Play(p, seed, simring.Flawless, &first)
			_ = simring.Play(p, seed, simring.Flawless, &second)
			if !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Errorf("%s, seed %d: two runs differ", name, seed)
			}
		}
	}
}
