package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"github.com/reactord/reactord/internal/simring"
)

// shrinkSeeds is how many seeds are tried before a fault counts as necessary.
const shrinkSeeds = 300

// run is a run that fails.
type run struct {
	seed   uint64
	faults []string // that may happen
	steps  int      // lines of its trace
}

// reportShrunk prints how to play a smaller run that fails alike.
func (s *search) reportShrunk(name string, p simring.Program, seed uint64, err error) {
	was := run{seed: seed, faults: s.drawn(p, seed)}
	was.steps, _ = s.fails(p, seed, was.faults)
	r := s.shrunk(p, was, err)
	fmt.Fprintf(s.out, "\tshrunk from %d steps with %d kinds of faults to %d steps with %d:\n\t%s -trace\n",
		was.steps, len(was.faults), r.steps, len(r.faults), s.command(name, r.seed, r.faults))
}

// drawn are the faults that can happen in a run.
func (s *search) drawn(p simring.Program, seed uint64) (faults []string) {
	faults = []string{} // and not nil, which would be all
	_ = simring.Play(limited(func(k *simring.Kernel) func() {
		for _, fault := range k.Odds.Faults() {
			if k.Odds.Has(fault) {
				faults = append(faults, fault)
			}
		}
		return func() {}
	}, s.faults), seed, simring.Flawless, nil)
	return faults
}

// shrunk leaves out one fault after the other for as long as one of the next seeds fails as err says, and takes the
// shortest of the runs with those that are left. A run without a fault is another run than that of the same seed with
// it, which is why it looks through seeds: what stays is how the run fails, and not the run.
func (s *search) shrunk(p simring.Program, r run, err error) run {
	like := kind(err)
	for _, fault := range slices.Clone(r.faults) {
		faults := slices.DeleteFunc(slices.Clone(r.faults), func(f string) bool { return f == fault })
		for seed := r.seed; seed < r.seed+shrinkSeeds; seed++ {
			if steps, err := s.fails(p, seed, faults); err != nil && kind(err) == like {
				r = run{seed, faults, steps}
				break
			}
		}
	}
	for seed := r.seed; seed < r.seed+shrinkSeeds; seed++ {
		if steps, err := s.fails(p, seed, r.faults); err != nil && kind(err) == like && steps < r.steps {
			r.seed, r.steps = seed, steps
		}
	}
	return r
}

// fails plays a seed, and returns how long it took to fail, if it did.
func (s *search) fails(p simring.Program, seed uint64, faults []string) (steps int, err error) {
	var lines lineCounter
	err = simring.Play(limited(p, faults), seed, s.flaw, &lines)
	return int(lines), err
}

// lineCounter is a writer that counts lines.
type lineCounter int

func (c *lineCounter) Write(p []byte) (int, error) {
	*c += lineCounter(bytes.Count(p, []byte("\n")))
	return len(p), nil
}

var numbers = regexp.MustCompile(`0x[0-9a-f]+|\d+`)

// kind is the first line of an error without its numbers: two runs that end with the same kind fail alike.
func kind(err error) string {
	line, _, _ := bytes.Cut([]byte(err.Error()), []byte("\n"))
	return numbers.ReplaceAllString(string(line), "#")
}
