package trial

import (
	"fmt"
	"time"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/bench/units"
)

// The limits at which a figure becomes doubtful.
const (
	shortest  = 10 * time.Second // the shortest run whose rare events count
	saturated = 0.9              // CPU share of a loop
	late      = 0.1              // lag at p99, relative to the median latency
	lateAtAll = 100 * time.Microsecond
	crowded   = 0.9 // used share of the ports or descriptors
)

// warn adds warnings about what makes the result doubtful. The same warning is added once.
func (r *Run) warn() {
	res := r.result
	said := map[string]int{} // how often, by format: phases are alike
	say := func(format string, args ...any) {
		if said[format]++; said[format] == 1 {
			res.Warnings = append(res.Warnings, fmt.Sprintf(format, args...))
		}
	}
	var measured float64
	for _, p := range res.Measured() {
		measured += p.Elapsed
		r.warnPhase(p, say)
		if ds := r.Plan.Demands; len(ds) > 0 && !ds.Met(p) {
			say("the rate that was found, %.0f/s, did not meet the demands when it was measured: "+
				"the machine or the target is not steady", p.Rate)
		}
	}
	if res.Failed == "" && measured < shortest.Seconds() {
		say("only %.1f s were measured; rarer events are not in the figures", measured)
	}
	if res.SharedCPUs && len(res.Machine.Allowed) <= res.Loops {
		say("the generator and the target share all CPUs: each slows down the other")
	} else if res.SharedCPUs {
		say("the generator and the target may run on the same CPUs; taskset(1) can separate them")
	}
	if q := res.Machine.Governor; q != "" && q != "performance" {
		say("the CPU's frequency is governed by %q and may change during the run", q)
	}
	r.warnLimits(say)
	if res.RingReason != "" {
		say("the generator runs on epoll: %s", res.RingReason)
	}
}

func (r *Run) warnPhase(p *record.Phase, say func(string, ...any)) {
	w := p.Total()
	if p.Busy > saturated {
		say("the generator was busy for %.0f %% of the time: it may limit the rate; --loops adds threads",
			100*p.Busy)
	}
	lag := w.Lag.At(99)
	if lag > lateAtAll && float64(lag) > late*float64(w.Latency.At(50)) {
		say("the generator itself sent messages late (p99 %s): latencies are too high by this time", units.Duration(lag))
	}
	if n := w.Errors.Total(); n > 0 {
		say("%d failures: %s", n, advised(w.Errors))
	} else if w.Sent > 0 && w.Messages+w.BytesIn+w.BytesOut == 0 {
		say("no replies and no failures: does the target do what this mode expects?")
	}
	if p.Client.Wait.Seconds() > 0.05*p.Elapsed*float64(r.result.Loops) {
		say("the generator waited %s for its CPU, which other processes used", units.Duration(p.Client.Wait))
	}
	if p.Rate > 0 && p.Throughput() < 0.99*p.Rate {
		say("the rate was to be %.0f messages/s, and %.0f came back", p.Rate, p.Throughput())
	}
}

func (r *Run) warnLimits(say func(string, ...any)) {
	m, res := &r.result.Machine, r.result
	if float64(res.Connections) > crowded*float64(m.OpenFiles) {
		say("there are %d open files (ulimit -n) for %d connections", m.OpenFiles, res.Connections)
	}
	ports := m.Ports()
	if p := r.Load.Ports; p.High > 0 {
		ports = int(p.High) - int(p.Low) + 1
	}
	ports *= max(len(r.Load.Sources), 1)
	if r.Load.Target.Scheme != "unix" && ports > 0 && float64(res.Connections) > crowded*float64(ports) {
		say("there are %d local ports to this target for %d connections; --source adds addresses", ports, res.Connections)
	}
}

// advised lists failures, with advice about the most frequent kind.
func advised(f record.Failures) string {
	if advice := f.Most().Advice(); advice != "" {
		return f.String() + "; " + advice
	}
	return f.String()
}
