// Command explore plays programs on a simulated kernel with one seed after the other, and prints those
// that fail. With -trace it tells what happens, step by step.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/simring/program"
)

func main() {
	seeds := flag.Uint64("seeds", 1000, "how many seeds to play")
	from := flag.Uint64("from", 0, "the first seed")
	name := flag.String("program", "", "the program; none: all of them")
	flaw := flag.String("flaw", "", "what the ring does wrong on purpose")
	trace := flag.Bool("trace", false, "tell what happens")
	flag.Parse()
	var out io.Writer
	if *trace {
		out = os.Stdout
	}
	failed := 0
	for n, p := range program.All {
		if *name != "" && *name != n {
			continue
		}
		for seed := *from; seed < *from+*seeds; seed++ {
			if err := simring.Play(p, seed, simring.Flaw(*flaw), out); err != nil {
				failed++
				fmt.Printf("%s, seed %d: %v\n", n, seed, err)
			}
		}
	}
	if failed != 0 {
		fmt.Printf("%d runs failed\n", failed)
		os.Exit(1)
	}
}
