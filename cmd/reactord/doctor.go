package main

import (
	"fmt"
	"io"
	"os"
)

type doctorCommand struct{}

// Run prints what was found. It fails only when reactord could not run here at all.
func (doctorCommand) Run() error {
	s := readSystem(os.DirFS("/"))
	report(os.Stdout, s.examine())
	return s.ringErr
}

// finding is one line of what the doctor says.
type finding struct {
	name, value string
	advice      string // what to do about it; "": all is well
}

// report prints the findings, and below each that is not well, what to do.
func report(w io.Writer, findings []finding) {
	advised := 0
	for _, f := range findings {
		mark := " "
		if f.advice != "" {
			mark = "!"
			advised++
		}
		fmt.Fprintf(w, "%s %-17s %s\n", mark, f.name, f.value)
		if f.advice != "" {
			fmt.Fprintf(w, "%20s%s\n", "", f.advice)
		}
	}
	switch advised {
	case 0:
		fmt.Fprintln(w, "\nNothing is missing.")
	case 1:
		fmt.Fprintln(w, "\nOne thing could be better: see the mark.")
	default:
		fmt.Fprintf(w, "\n%d things could be better: see the marks.\n", advised)
	}
}
