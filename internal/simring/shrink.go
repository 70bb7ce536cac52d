package simring

import (
	"bytes"
	"regexp"
	"slices"
)

// shrinkSeeds is how many seeds are tried before a fault counts as necessary.
const shrinkSeeds = 300

// Failure is a run that fails.
type Failure struct {
	Seed   uint64
	Faults []string // that may happen
	Steps  int      // of its trace
}

// Shrink leaves out one fault after the other for as long as one of the next seeds fails as err says, and takes the
// shortest of the runs with those that are left. A run without a fault is another run than that of the same seed with
// it, which is why it looks through seeds: what stays is how the run fails, and not the run. fails plays a seed with
// some faults, and returns how long it took to fail, if it did.
func (r Failure) Shrink(err error, fails func(seed uint64, faults []string) (steps int, err error)) Failure {
	like := Kind(err)
	for _, fault := range slices.Clone(r.Faults) {
		faults := slices.DeleteFunc(slices.Clone(r.Faults), func(f string) bool { return f == fault })
		for seed := r.Seed; seed < r.Seed+shrinkSeeds; seed++ {
			if steps, err := fails(seed, faults); err != nil && Kind(err) == like {
				r = Failure{seed, faults, steps}
				break
			}
		}
	}
	for seed := r.Seed; seed < r.Seed+shrinkSeeds; seed++ {
		if steps, err := fails(seed, r.Faults); err != nil && Kind(err) == like && steps < r.Steps {
			r.Seed, r.Steps = seed, steps
		}
	}
	return r
}

// StepCounter is a trace of which only the number of steps is kept.
type StepCounter int

func (c *StepCounter) Write(p []byte) (int, error) {
	*c += StepCounter(bytes.Count(p, []byte("\n")))
	return len(p), nil
}

var numbers = regexp.MustCompile(`0x[0-9a-f]+|\d+`)

// Kind returns the first line of an error without its numbers: two runs that end with the same kind fail alike.
func Kind(err error) string {
	line, _, _ := bytes.Cut([]byte(err.Error()), []byte("\n"))
	return numbers.ReplaceAllString(string(line), "#")
}
