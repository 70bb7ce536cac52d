package main

import (
	"fmt"

	"github.com/reactord/reactord/internal/simring"
)

// reportShrunk prints how to play a smaller run that fails alike.
func (s *search) reportShrunk(name string, p simring.Program, seed uint64, err error) {
	was := simring.Failure{Seed: seed, Faults: s.drawn(p, seed)}
	was.Steps, _ = s.fails(p, seed, was.Faults)
	r := s.shrunk(p, was, err)
	fmt.Fprintf(s.out, "\tshrunk from %d steps with %d kinds of faults to %d steps with %d:\n\t%s -trace\n",
		was.Steps, len(was.Faults), r.Steps, len(r.Faults), s.command(name, r.Seed, r.Faults))
}

func (s *search) shrunk(p simring.Program, r simring.Failure, err error) simring.Failure {
	return r.Shrink(err, func(seed uint64, faults []string) (int, error) { return s.fails(p, seed, faults) })
}

// drawn returns the faults that can happen in a run.
func (s *search) drawn(p simring.Program, seed uint64) (faults []string) {
	_ = simring.Play(limited(func(k *simring.Kernel) func() {
		faults = k.Odds.Possible()
		return func() {}
	}, s.faults), seed, simring.Flawless, nil)
	return faults
}

// fails plays a seed, and returns how long it took to fail, if it did.
func (s *search) fails(p simring.Program, seed uint64, faults []string) (steps int, err error) {
	var counted simring.StepCounter
	err = simring.Play(limited(p, faults), seed, s.flaw, &counted)
	return int(counted), err
}
