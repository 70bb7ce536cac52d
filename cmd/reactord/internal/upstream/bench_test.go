package upstream

import (
	"fmt"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
)

// BenchmarkChange is a change of one server in 5 000: what it costs the planner's goroutine, and the control loop.
func BenchmarkChange(b *testing.B) {
	for _, backends := range []int{1, 1000} {
		for _, policy := range []config.Policy{"p2c", "maglev"} {
			for _, part := range []string{"prepare", "commit"} {
				b.Run(fmt.Sprintf("backends=%d/%s/%s", backends, policy, part), func(b *testing.B) {
					err := simring.Play(func(k *simring.Kernel) func() {
						d := New(Config{Loop: program.NewLoop(k)})
						k.Go("loop", func(*simring.Thread) {
							err := d.Loop.Run(func() {
								benchmark(b, d, backends, policy, part == "prepare")
								d.Stop()
								d.Loop.Stop()
							})
							program.Ended(k, d.Loop, err)
						})
						return func() {}
					}, 1, simring.Flawless, nil)
					if err != nil {
						b.Fatal(err)
					}
				})
			}
		}
	}
}

func benchmark(b *testing.B, d *Directory, backends int, policy config.Policy, prepare bool) {
	p := &plan.Plan{}
	for i := range backends {
		p.Backends = append(p.Backends, backend(fmt.Sprint(i), 5000/backends,
			func(c *config.Backend) { c.Balance.Policy = policy }))
	}
	d.Prepare(p).Commit()
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		next := &plan.Plan{Backends: append([]plan.Backend(nil), p.Backends...)}
		next.Backends[0].Servers = p.Backends[0].Servers[i%2:]
		if !prepare {
			b.StopTimer()
		} else {
			b.StartTimer()
		}
		c := d.Prepare(next)
		if prepare {
			b.StopTimer()
		} else {
			b.StartTimer()
		}
		c.Commit()
	}
	b.StopTimer()
}
