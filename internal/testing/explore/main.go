// Command explore plays programs on simulated kernels, with one seed after the other, and prints those
// that fail and how to play them again. With -trace it tells what happens, step by step.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
)

func main() {
	names := append(slices.Sorted(maps.Keys(program.All)), proxy)
	var s search
	flag.Uint64Var(&s.seeds, "seeds", 1000, "how many seeds to play")
	flag.Uint64Var(&s.from, "from", 0, "the first of them")
	flag.IntVar(&s.parallel, "parallel", runtime.GOMAXPROCS(0), "how many to play at a time")
	flag.BoolVar(&s.trace, "trace", false, "tell what happens")
	name := flag.String("program", "all", "what to play: all, or one of "+strings.Join(names, ", "))
	flaw := flag.String("flaw", "", "what the ring does wrong on purpose")
	flag.Parse()
	s.flaw, s.out = simring.Flaw(*flaw), os.Stdout
	if *name != "all" {
		if !slices.Contains(names, *name) {
			fmt.Fprintf(os.Stderr, "there is no program %q: there are %s\n", *name, strings.Join(names, ", "))
			os.Exit(2)
		}
		names = []string{*name}
	}
	failed := uint64(0)
	for _, name := range names {
		failed += s.explore(name)
	}
	if failed != 0 {
		os.Exit(1)
	}
}

// search is what to look through.
type search struct {
	from, seeds uint64
	parallel    int
	flaw        simring.Flaw
	trace       bool
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

// play plays the seeds, several at a time unless they are traced, and tells of the failures in order.
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
				results[i] <- simring.Play(p, s.from+n, s.flaw, trace)
			}
		})
	}
	for n := range s.seeds {
		if err := <-results[n%uint64(parallel)]; err != nil {
			failed++
			s.tell(name, s.from+n, err)
		}
	}
	return failed
}

// tell tells of a failure, and how to see it.
func (s *search) tell(name string, seed uint64, err error) {
	fmt.Fprintf(s.out, "%s, seed %d: %v\n", name, seed, err)
	if s.trace {
		return
	}
	flaw := ""
	if s.flaw != simring.Flawless {
		flaw = fmt.Sprintf(" -flaw %q", s.flaw)
	}
	fmt.Fprintf(s.out, "\tgo run ./internal/testing/explore -program %s -from %d -seeds 1%s -trace\n", name, seed, flaw)
}
