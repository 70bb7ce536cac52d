package conformance

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
)

// Simulated plays each case on simulated kernels: with seed 0, which has no faults, and with other seeds, which draw
// faults. cfg is how loops are made; their rings are those of the kernel.
//
// A seed that fails is played again, with a trace, by
//
//	go test ./reactor -run 'TestConformance/sim/CONFIG/ROW/SITUATION/seed_N' -v -conformance.trace
func Simulated(cfg reactor.LoopConfig, seeds uint64) Machine {
	if cfg.DrainTimeout == 0 {
		cfg.DrainTimeout = time.Hour
	}
	return simulated{cfg, seeds}
}

type simulated struct {
	cfg   reactor.LoopConfig
	seeds uint64
}

func (m simulated) each(t *testing.T, play func(*testing.T, host)) {
	var trace io.Writer
	if *traced {
		trace = os.Stdout
	}
	for seed := range m.seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			err := simring.Play(func(k *simring.Kernel) (check func()) {
				h := simulation{Process: k.Process(), k: k, cfg: m.cfg}
				k.Odds = calm
				if seed != 0 {
					h.faults = draw(k)
				}
				k.Go("case", func(*simring.Thread) { play(t, h) })
				return func() {}
			}, seed, simring.Flawless, trace)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// calm is a machine without faults, on which bytes arrive before another thread runs.
var calm = simring.Odds{Latency: 1, Buffer: 1 << 12, Files: 1 << 10, CQ: 1 << 10, Workers: 4, Disk: 1 << 24}

// simulation is a simulated kernel as a host. Its threads are those of the kernel.
type simulation struct {
	simring.Process
	k      *simring.Kernel
	cfg    reactor.LoopConfig
	faults []fault
}

func (h simulation) newLoop() (*reactor.Loop, error) {
	return reactor.NewLoopOn(h.k.NewRing(), h.k.System(), h.cfg)
}

func (h simulation) spawn(name string, f func()) { h.k.Go(name, func(*simring.Thread) { f() }) }

func (h simulation) thread() int { return h.Thread() }

func (h simulation) newSignal() signal { return &count{h: h} }

// count is a signal: how many raises have not been waited for.
type count struct {
	h simulation
	n int
}

func (c *count) raise() { c.n++ }

func (c *count) wait() bool {
	if !c.h.Wait(func() bool { return c.n != 0 }, c.h.patience()) {
		return false
	}
	c.n--
	return true
}

func (h simulation) now() int64 { return h.k.Now() }

func (simulation) patience() time.Duration { return 24 * time.Hour }

func (h simulation) deliver() { h.Deliver() }

func (h simulation) descriptors() int { return h.Descriptors() }

func (h simulation) accepts(how situation, want expectation) expectation {
	for _, f := range h.faults {
		if f.may != nil {
			want = f.may(how, want)
		}
	}
	return want
}

func (simulation) temp(*testing.T) string { return "" }

func (h simulation) child(*testing.T) (pid int) { return h.k.Child(10*h.patience(), 0) }

func (h simulation) kill(pid int, sig unix.Signal) error { return h.k.Kill(pid, sig) }

func (h simulation) interrupt(sig unix.Signal) error {
	h.k.Signal(sig)
	return nil
}

// lacks returns "": a simulated kernel has every operation, and long waits cost no real time.
func (simulation) lacks(expectation) string { return "" }
