package program_test

import (
	"testing"
	"time"

	"github.com/reactord/reactord/internal/simring"
)

// Sleepers runs a thread that sleeps. No sleep is shorter than asked for.
func Sleepers(k *simring.Kernel) (check func()) {
	early := 0
	k.Go("sleeper", func(t *simring.Thread) {
		d := time.Duration(1 + k.Rand().Int64N(1e9))
		began := k.Now()
		t.Sleep(d)
		if k.Now()-began < int64(d) {
			early++
		}
	})
	return func() {
		if early != 0 {
			k.Errorf("%d sleeps were too short", early)
		}
	}
}

// The program of "Adding a program" in docs/testing.md.
func TestSleepers(t *testing.T) {
	for seed := range uint64(20) {
		if err := simring.Play(Sleepers, seed, simring.Flawless, nil); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
