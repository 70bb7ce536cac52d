//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/conformance"
	"github.com/reactord/reactord/reactor"
)

// configs are the loops that the suite is run on.
var configs = map[string]reactor.LoopConfig{
	"usual": {},
	// Completions and wake-ups are waited for a little longer than it takes.
	"minwait": {MinWait: 50 * time.Microsecond},
	// Each entry fills the queue, and each buffer is all there is.
	"tiny": {Entries: 1, Buffers: reactor.BufferConfig{Size: 64, Window: 1, Limit: 1}},
}

func TestConformance(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for name, cfg := range configs {
			if testing.Short() && name != "usual" {
				continue
			}
			cfg.Ring = kind
			t.Run(name, conformance.Suite{
				On:       conformance.Process(cfg),
				Leftover: (*reactor.Loop).Leftover,
			}.Run)
		}
	})
	for name, cfg := range configs {
		if testing.Short() && name != "tiny" {
			continue
		}
		t.Run("sim/"+name, conformance.Suite{
			On:       conformance.Simulated(cfg, testenv.Seeds(8)),
			Leftover: (*reactor.Loop).Leftover,
		}.Run)
	}
}
