package proxy

import (
	"fmt"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// Loops accept what their CPUs receive, also while that is given up, and what CPUs without a loop receive.
func TestSimulationOfIncomingCPU(t *testing.T) {
	t.Parallel()
	var saw struct{ local, other, spread int }
	for seed := range testenv.Seeds(100) {
		err := simring.Play(func(k *simring.Kernel) func() {
			rng := k.Rand()
			loops := make([]*reactor.Loop, 1+rng.IntN(4))
			for i := range loops {
				loops[i] = program.NewPinnedLoop(k, i)
			}
			k.Odds.CPUs = 1 + rng.IntN(6)
			s := &simulation{k: k, talk: program.NewTalk(k), clients: 1 + rng.IntN(12)}
			server, buffer := drawServer(k, 0), 1<<rng.IntN(14)
			k.Go("server", func(t *simring.Thread) { s.serve(t, server) })
			k.Go("start", func(*simring.Thread) {
				cfg := roomy()
				cfg.IncomingCPU = true
				s.start(cfg, Backend{
					Name: "b", Servers: []Server{server}, Buffer: buffer, HalfCloseTimeout: time.Hour, IdleTimeout: 2 * time.Hour,
				}, loops)
			})
			for i := range s.clients {
				k.Go(fmt.Sprintf("client%d", i), s.client)
			}
			spread := rng.IntN(3) == 0
			if spread {
				saw.spread++
				after := time.Duration(rng.Int64N(int64(20 * time.Millisecond)))
				k.Go("spread", func(t *simring.Thread) {
					t.Until(s.isUp)
					t.Sleep(after)
					s.proxy.spreadByHash()
				})
			}
			k.Go("stopper", func(t *simring.Thread) { s.stop(t, 0) })
			return func() {
				s.check()
				for _, l := range s.proxy.LoopStats() {
					saw.local += int(l.Local)
					saw.other += int(l.Accepted - l.Local)
					if !spread && k.Odds.CPUs <= len(loops) && l.Local != l.Accepted {
						k.Errorf("loop %s accepted %d connections, of which its CPU received %d", l.Name, l.Accepted, l.Local)
					}
				}
			}
		}, seed, simring.Flawless, nil)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if t.Logf("%+v", saw); saw.local == 0 || saw.other == 0 || saw.spread == 0 {
		t.Errorf("the simulation did not try enough: %+v", saw)
	}
}
