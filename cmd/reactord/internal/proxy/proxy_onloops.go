package proxy

import (
	"errors"

	"go.uber.org/zap"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/sets"
	"github.com/reactord/reactord/reactor"
)

// OnLoops configures a proxy whose loops the caller makes and runs, on the rings of a simulated kernel. What the
// process has and does not have decides nothing there: all choices follow from the seed, but for collisions in the
// tables of source_rate, source_connections and bandwidth, which have a key of the process.
type OnLoops struct {
	Log   *zap.Logger     // nil discards
	Loops []*reactor.Loop // that do not run yet
	Seed  uint64          // of the choice of servers, and of the times of checks; not 0
	Pairs int             // connections that there are descriptors for; not 0
	Sets  *sets.Directory // live sets; nil: they are empty
	// Wait waits on the thread that commits a plan, until ready reports that all loops have it.
	Wait func(ready func() bool)
}

// Prepare makes a proxy that listens by a first plan. [Proxy.RunLoop] runs each of its loops. Nothing watches memory,
// and keys of session tickets are not renewed. The other methods of the proxy that wait must not be called: use
// [Proxy.BeginDrain].
func (c *OnLoops) Prepare(first *plan.Plan) (*Proxy, error) {
	cfg := Config{Log: c.Log, Sets: c.Sets, seed: c.Seed, pairs: c.Pairs, ports: int64(c.Pairs)}
	p, err := prepare(cfg, first, c.Loops)
	if err != nil {
		return nil, errors.Join(err, p.discard())
	}
	p.await = func(done <-chan struct{}) {
		c.Wait(func() bool {
			select {
			case <-done:
				return true
			default:
				return false
			}
		})
	}
	return p, nil
}

// RunLoop runs the loop with an index on the calling thread, and calls up when it accepts connections. It returns when
// the proxy has drained.
func (p *Proxy) RunLoop(index int, up func()) error {
	w := p.workers[index]
	return w.loop.Run(func() {
		w.start()
		p.noteChecked()
		up()
	})
}

// BeginDrain stops accepting on all loops, and returns before they have. Each loop ends with its last connection; reset
// resets those that are open.
func (p *Proxy) BeginDrain(reset bool) {
	p.stopPlanning()
	p.each(func(w *worker) {
		if w.drain(); reset {
			w.close()
		}
	})
}
