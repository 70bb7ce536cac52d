package cli

import (
	"fmt"
	"io"
	"os"
)

type doctorCommand struct{}

// Run prints the findings. It fails only if reactord cannot run on this machine.
func (doctorCommand) Run() error {
	s := readSystem(os.DirFS("/"))
	report(os.Stdout, s.examine())
	return s.ringErr
}

// finding is one line of the report.
type finding struct {
	name, value string
	advice      string // what to improve; "": nothing
}

// report prints the findings, and what to improve below each of them.
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
		fmt.Fprintln(w, "\nThere is nothing to improve.")
	case 1:
		fmt.Fprintln(w, "\nOne thing can be improved: see the line marked with !.")
	default:
		fmt.Fprintf(w, "\n%d things can be improved: see the lines marked with !.\n", advised)
	}
}
