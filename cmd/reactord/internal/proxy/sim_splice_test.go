package proxy

import (
	"fmt"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// Bulk that goes through kernel pipes, with every fault of the simulated kernel. Some connections end, or the proxy is
// closed, while pipes hold bytes.
func TestSimulationOfSplices(t *testing.T) {
	t.Parallel()
	spliced := 0
	seeds := manySeeds()
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		var s *simulation
		err := simring.Play(func(k *simring.Kernel) func() {
			s = simulateBulk(k)
			return s.check
		}, seed, simring.Flaw(*simFlaw), nil)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, w := range s.proxy.workers {
			spliced += w.splices.Len()
		}
	}
	if seeds >= 100 && spliced < int(seeds)/10 {
		t.Errorf("only %d splices", spliced)
	}
}

// A splice that loses bytes is found.
func TestSimulationOfSplicesFindsFlaws(t *testing.T) {
	if testing.Short() {
		t.Skip("many simulated runs")
	}
	defer abandonTasks()
	for seed := range uint64(1000) {
		play := func(k *simring.Kernel) func() { return simulateBulk(k).check }
		err := simring.Play(play, seed, simring.LoseSplicedBytes, nil)
		if err != nil {
			return
		}
	}
	t.Error("the flaw was not found")
}

// simulateBulk puts a proxy before a server, with descriptors for splices and with so small buffers that most is bulk.
func simulateBulk(k *simring.Kernel) *simulation {
	rng := k.Rand()
	s := &simulation{k: k, talk: program.NewTalk(k), clients: 1 + rng.IntN(4), hurry: rng.IntN(4) == 0}
	server := drawServer(k, 0)
	b := Backend{
		Name: "b", Buffer: minAdaptive, HalfCloseTimeout: time.Hour, IdleTimeout: 2 * time.Hour,
		Servers: []Server{server},
	}
	k.Go("server", func(t *simring.Thread) { s.serve(t, server) })
	loops := []*reactor.Loop{program.NewBulkLoop(k)}
	k.Go("start", func(t *simring.Thread) { s.start(roomy(), b, loops) })
	for i := range s.clients {
		k.Go(fmt.Sprintf("client%d", i), s.client)
	}
	after := time.Duration(rng.Int64N(int64(50 * time.Millisecond)))
	k.Go("stopper", func(t *simring.Thread) { s.stop(t, after) })
	return s
}
