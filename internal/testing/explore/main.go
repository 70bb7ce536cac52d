// Command explore plays programs on simulated kernels, one seed after the other, and prints the seeds that fail and
// how to play them again. See docs/testing.md.
//
//	go run ./internal/testing/explore -seeds 2000                       every program
//	go run ./internal/testing/explore -program echo -from 17 -seeds 1 -trace    one run, step by step
//	go run ./internal/testing/explore -program echo -from 17 -seeds 1 -shrink   a smaller run that fails alike
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
)

func main() {
	names := append(slices.Sorted(maps.Keys(program.All)), proxy)
	var s search
	flag.Uint64Var(&s.seeds, "seeds", 1000, "how many seeds to play")
	flag.Uint64Var(&s.from, "from", 0, "the first seed")
	flag.IntVar(&s.parallel, "parallel", runtime.GOMAXPROCS(0), "how many seeds to play at a time")
	flag.BoolVar(&s.trace, "trace", false, "print what happens, step by step")
	flag.BoolVar(&s.shrink, "shrink", false, "look for a smaller run that fails like the first one that fails")
	name := flag.String("program", "all", "the program: all, or one of "+strings.Join(names, ", "))
	faults := flag.String("faults", "all", "the faults that may happen: all, none, or some of "+
		strings.Join(simring.Odds{}.Faults(), ","))
	flaw := flag.String("flaw", "", "what the ring does wrong on purpose: one of "+fmt.Sprintf("%q", flaws()))
	flag.Parse()
	s.flaw, s.out = simring.Flaw(*flaw), os.Stdout
	switch *faults {
	case "all":
	case "none":
		s.faults = []string{}
	default:
		s.faults = strings.Split(*faults, ",")
		check("fault", s.faults, simring.Odds{}.Faults())
	}
	if s.flaw != simring.Flawless {
		check("flaw", []simring.Flaw{s.flaw}, flaws())
	}
	if *name != "all" {
		check("program", []string{*name}, names)
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

func flaws() []simring.Flaw { return slices.Concat(simring.Flaws, simring.FurtherFlaws) }

// check ends the command if one of the given names is unknown.
func check[S ~string](what string, given, known []S) {
	for _, name := range given {
		if !slices.Contains(known, name) {
			fmt.Fprintf(os.Stderr, "there is no %s %q: there are %q\n", what, name, known)
			os.Exit(2)
		}
	}
}
