package main

import (
	"fmt"
	"strings"

	"github.com/reactord/reactord/bench/stats"
	"github.com/reactord/reactord/bench/units"
)

// figure is a quantity that must not grow. It is judged in the second two thirds of the load. It grows if the lower
// bound of its slope is positive, if by its slope it gains more than is allowed in that time, and if half of that is
// still there after the load.
type figure struct {
	name string
	of   func(*sample) float64
	gain float64 // that is allowed
	part float64 // of the median, likewise
	text func(float64) string
}

var figures = []figure{
	{"resident memory", func(s *sample) float64 { return s.memory }, 4 << 20, 0.05, units.Bytes},
	{"live heap", func(s *sample) float64 { return s.heap }, 1 << 20, 0.05, units.Bytes},
	{"descriptors", func(s *sample) float64 { return s.descriptors }, 20, 0.05, units.Count},
	{"threads", func(s *sample) float64 { return s.threads }, 4, 0.05, units.Count},
	{"goroutines", func(s *sample) float64 { return s.goroutines }, 4, 0.05, units.Count},
	{"open connections", func(s *sample) float64 { return s.open }, 20, 0.05, units.Count},
}

// judged returns the samples that count: from a third on, without the one after the load.
func judged(all []sample) []sample { return all[len(all)/3 : len(all)-1] }

// leastJudged is the minimum number of samples.
const leastJudged = 5

// summary describes the run, and returns its problems.
func summary(all []sample, c *clients) (text string, problems []string) {
	var b strings.Builder
	last := &all[len(all)-1]
	some := judged(all)
	begin, end := &all[0], &all[len(all)-2]
	fmt.Fprintf(&b, "%.0f s of load, %d samples\n", end.seconds-begin.seconds, len(all))
	fmt.Fprintf(&b, "connections and sessions: %.0f; clients that ended well: %d; broken by faults: %d; "+
		"lost datagrams: %d\n", last.accepted, last.done, last.broken, last.lost)
	fmt.Fprintf(&b, "CPU time of the daemon: %.1f %% of a core\n", 100*(end.cpu-begin.cpu)/(end.seconds-begin.seconds))
	fmt.Fprintf(&b, "%-18s %12s %12s %14s\n", "", "median", "after", "slope an hour")
	if len(some) < leastJudged {
		problems = append(problems, fmt.Sprintf("%d samples are too few to judge growth: take a longer -t", len(some)))
	} else {
		for _, f := range figures {
			line, grows := f.judge(some, last)
			b.WriteString(line)
			if grows {
				problems = append(problems, f.name+" grows")
			}
		}
	}
	for what, n := range map[string]int64{
		"clients got wrong bytes": last.wrong, "clients could not connect": last.refused,
		"clients waited in vain": last.late,
	} {
		if n != 0 {
			problems = append(problems, fmt.Sprintf("%d %s; the first error: %s", n, what, *c.first.Load()))
		}
	}
	if last.done == 0 {
		problems = append(problems, "no client ended well")
	}
	if last.open != 0 {
		problems = append(problems, fmt.Sprintf("%.0f connections are open after the load", last.open))
	}
	return b.String(), problems
}

func (f *figure) judge(some []sample, after *sample) (line string, grows bool) {
	x, y := make([]float64, len(some)), make([]float64, len(some))
	for i := range some {
		x[i], y[i] = some[i].seconds, f.of(&some[i])
	}
	median := stats.Of(y).Median
	slope, low := stats.Trend(x, y)
	gain := max(f.gain, f.part*median)
	first := stats.Of(y[:max(len(y)/3, 1)]).Median
	grows = low > 0 && slope*(x[len(x)-1]-x[0]) > gain && f.of(after) > first+gain/2
	sign, hour := "+", slope*3600
	if hour < 0 {
		sign, hour = "-", -hour
	}
	line = fmt.Sprintf("%-18s %12s %12s %14s", f.name, f.text(median), f.text(f.of(after)), sign+f.text(hour))
	if grows {
		line += "  GROWS"
	}
	return line + "\n", grows
}
