package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
)

// search is what to play.
type search struct {
	from, seeds uint64
	parallel    int
	flaw        simring.Flaw
	faults      []string // that may happen; nil: all
	trace       bool
	shrink      bool
	out         io.Writer
}

// explore plays a program with all seeds, and returns how many fail.
func (s *search) explore(name string) (failed uint64) {
	began := time.Now()
	if name == proxy {
		failed = s.exploreProxy()
	} else {
		failed = s.play(name, program.All[name])
	}
	took := time.Since(began)
	verdict := "none fails"
	if failed != 0 {
		verdict = fmt.Sprintf("%d fail", failed)
	}
	fmt.Fprintf(s.out, "%s: %d seeds from %d on, %s, %v (%.0f a second)\n",
		name, s.seeds, s.from, verdict, took.Round(time.Millisecond), float64(s.seeds)/took.Seconds())
	return failed
}

// play plays the seeds, several at a time unless they are traced, and prints the failures in order.
func (s *search) play(name string, p simring.Program) (failed uint64) {
	parallel, trace := max(s.parallel, 1), io.Writer(nil)
	if s.trace {
		parallel, trace = 1, s.out
	}
	results := make([]chan error, parallel)
	var players sync.WaitGroup
	defer players.Wait()
	for i := range results {
		results[i] = make(chan error, 64)
		players.Go(func() {
			for n := uint64(i); n < s.seeds; n += uint64(parallel) {
				results[i] <- simring.Play(limited(p, s.faults), s.from+n, s.flaw, trace)
			}
		})
	}
	for n := range s.seeds {
		err := <-results[n%uint64(parallel)]
		if err == nil {
			continue
		}
		failed++
		s.report(name, s.from+n, err)
		if s.shrink && failed == 1 {
			s.reportShrunk(name, p, s.from+n, err)
		}
	}
	return failed
}

// limited returns a program with the faults that are named, and no others; with all if faults is nil.
func limited(p simring.Program, faults []string) simring.Program {
	if faults == nil {
		return p
	}
	return func(k *simring.Kernel) func() {
		k.Odds = k.Odds.Only(faults...)
		return p(k)
	}
}

// report prints a failure, and how to play it again.
func (s *search) report(name string, seed uint64, err error) {
	fmt.Fprintf(s.out, "%s, seed %d: %v\n", name, seed, err)
	if !s.trace {
		fmt.Fprintf(s.out, "\t%s -trace\n", s.command(name, seed, s.faults))
	}
}

// command returns the command that plays a seed.
func (s *search) command(name string, seed uint64, faults []string) string {
	command := fmt.Sprintf("go run ./internal/testing/explore -program %s -from %d -seeds 1", name, seed)
	if s.flaw != simring.Flawless {
		command += fmt.Sprintf(" -flaw %q", s.flaw)
	}
	switch {
	case faults == nil:
	case len(faults) == 0:
		command += " -faults none"
	default:
		command += " -faults " + strings.Join(faults, ",")
	}
	return command
}
