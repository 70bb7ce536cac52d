// Apilist lists the exported API of the library, one line for each thing that a program can depend on:
//
//	pkg reactor, func New(Config) (*Reactor, error)
//	pkg reactor, type Config struct
//	pkg reactor, type Config struct, Loops int
//	pkg reactor, method (*Reactor) Run(func(*Loop) error) error
//
// It prints the lines, or compares them with a file:
//
//	go run ./internal/apilist                     # print them
//	go run ./internal/apilist api/0.1.0.txt       # print what is missing (-) and what is new (+)
//	go run ./internal/apilist -update api/0.1.0.txt
//
// Every public package is listed: all that are not internal, programs, tests or examples. The exit status is 1 if a
// line of the file is missing. A line is missing if the thing is gone, or if its type has changed; names of parameters
// do not count. An interface is one line with all of its methods, because one more breaks those who implement it.
//
// The listing is that of linux/amd64. .ci/api uses it before the first release has a tag; docs/releasing.md says when a
// listing is written.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	update := flag.Bool("update", false, "write the file")
	flag.Parse()
	missing, err := run(*update, flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "apilist:", err)
		os.Exit(2)
	}
	if missing {
		os.Exit(1)
	}
}

// run prints, writes or compares the listing. It reports whether lines of the file are missing.
func run(update bool, path string) (missing bool, err error) {
	lines, err := list()
	if err != nil {
		return false, err
	}
	switch {
	case path == "":
		_, err := os.Stdout.WriteString(text(lines))
		return false, err
	case update:
		return false, os.WriteFile(path, []byte(text(lines)), 0o644)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	gone, added := compare(strings.Split(string(bytes.TrimSpace(file)), "\n"), lines)
	for _, line := range gone {
		fmt.Println("-", line)
	}
	for _, line := range added {
		fmt.Println("+", line)
	}
	return len(gone) > 0, nil
}

func text(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// compare returns the lines that only the old or only the new listing has. Both are sorted.
func compare(before, now []string) (gone, added []string) {
	for _, line := range before {
		if _, found := slices.BinarySearch(now, line); !found {
			gone = append(gone, line)
		}
	}
	for _, line := range now {
		if !slices.Contains(before, line) {
			added = append(added, line)
		}
	}
	return gone, added
}
