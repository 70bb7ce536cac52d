//go:build linux

package reactor

import (
	"errors"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Config configures a [Reactor]. Its zero value works.
type Config struct {
	// Loops is the number of loops, at most 4096. Default: one for each CPU that the process may run on.
	Loops int
	// Pin binds each loop to one CPU: to a different one as long as there are enough.
	Pin bool
	// Loop configures each loop.
	Loop LoopConfig
	// OnLoops, if not nil, is called with the loops once they are made, before they run. It is for programs that do not
	// make the Reactor themselves, but observe its loops: see the metrics package.
	OnLoops func([]*Loop)
}

// maxLoops is the most loops that a Reactor can have.
const maxLoops = 4096

// Reactor is a set of loops that run and stop together.
type Reactor struct{ loops []*Loop }

// New makes a reactor with all its loops. The caller must call [Reactor.Run].
func New(cfg Config) (*Reactor, error) {
	cpus := allowedCPUs()
	if err := setInRange("Config.Loops", &cfg.Loops, 1, maxLoops, len(cpus)); err != nil {
		return nil, err
	}
	r := &Reactor{}
	for i := range cfg.Loops {
		lc := cfg.Loop
		if cfg.Pin {
			lc.CPUs = cpus[i%len(cpus) : i%len(cpus)+1]
		}
		if lc.Name = strconv.Itoa(i); cfg.Loop.Name != "" {
			lc.Name = cfg.Loop.Name + "/" + lc.Name
		}
		l, err := NewLoop(lc)
		if err != nil {
			for _, l := range r.loops {
				err = errors.Join(err, l.Discard())
			}
			return nil, err
		}
		r.loops = append(r.loops, l)
	}
	if cfg.OnLoops != nil {
		cfg.OnLoops(r.loops)
	}
	return r, nil
}

func allowedCPUs() (cpus []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) == nil {
		for i := range len(set) * 64 {
			if set.IsSet(i) {
				cpus = append(cpus, i)
			}
		}
	}
	if len(cpus) == 0 {
		cpus = []int{0}
	}
	return cpus
}

// Loops returns the reactor's loops.
func (r *Reactor) Loops() []*Loop { return r.loops }

// Run runs each loop on its own goroutine, and returns when all have ended: see [Loop.Run]. setup, if not nil, is
// called on each loop's thread as the loop's first work. If a loop fails, or setup returns an error, the other loops
// are stopped; Run returns the errors of all loops.
//
// Run raises GOMAXPROCS to the number of loops plus two if it is lower: one for the rest of the program, so that it
// does not have to wait for a busy loop, and one that is idle. Without an idle one, the runtime takes the processor of
// each loop that sleeps.
func (r *Reactor) Run(setup func(*Loop) error) error {
	if need := len(r.loops) + 2; runtime.GOMAXPROCS(0) < need {
		runtime.GOMAXPROCS(need)
	}
	errs := make([]error, len(r.loops))
	var wg sync.WaitGroup
	for i, l := range r.loops {
		wg.Go(func() {
			defer func() {
				if errs[i] = errors.Join(errs[i], l.err); errs[i] != nil {
					r.Stop()
				}
			}()
			errs[i] = l.Run(func() {
				if setup == nil {
					return
				}
				if err := setup(l); err != nil {
					l.Fail(err)
				}
			})
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Stop asks every loop to drain: see [Loop.Stop]. From any thread, more than once.
func (r *Reactor) Stop() {
	for _, l := range r.loops {
		l.Stop()
	}
}
