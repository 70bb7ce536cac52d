package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/laboratory"
)

// testCommand tests a configuration by the cases of a file.
type testCommand struct {
	File   string `arg:"" placeholder:"FILE" help:"File of cases."`
	Config string `short:"c" placeholder:"FILE" help:"Configuration file, instead of the one that FILE names."`
	JUnit  string `name:"junit" placeholder:"FILE" help:"Write the results as JUnit's XML, too."`
}

// errCases reports that a configuration is not as expected.
var errCases = errors.New("the configuration does not do what is expected")

// Run tries all cases. The error matches errCases if one has failed.
func (c testCommand) Run() error {
	all, err := c.try()
	failed := 0
	if err == nil {
		w := bufio.NewWriter(os.Stdout)
		failed = showResults(w, all)
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if c.JUnit != "" {
		err = errors.Join(err, c.writeJUnit(all, err))
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%w: %d of %d cases failed", errCases, failed, len(all))
	}
	return err
}

// try tries all cases.
func (c testCommand) try() (all []laboratory.Result, err error) {
	cases, err := laboratory.ReadCases(c.File)
	if err != nil {
		return nil, err
	}
	l, err := laboratory.Open(context.Background(), cmp.Or(c.Config, cases.Config))
	if err != nil {
		return nil, err
	}
	for i := range cases.All {
		all = append(all, l.Try(&cases.All[i]))
	}
	return all, nil
}

// writeJUnit writes results to a file, or why there are none.
func (c testCommand) writeJUnit(all []laboratory.Result, why error) error {
	f, err := os.Create(c.JUnit)
	if err != nil {
		return err
	}
	return errors.Join(laboratory.WriteJUnit(f, c.File, all, why), f.Close())
}

// showResults prints results for people, and returns how many cases have failed.
func showResults(w io.Writer, all []laboratory.Result) (failed int) {
	for _, r := range all {
		if len(r.Differences) == 0 {
			fmt.Fprintf(w, "ok    %s\n", plain(r.Case.Name))
			continue
		}
		failed++
		fmt.Fprintf(w, "FAIL  %s (%s)\n", plain(r.Case.Name), r.Case.Place())
		for _, d := range r.Differences {
			fmt.Fprintf(w, "        %s\n", plain(d))
		}
		for _, rule := range r.Rules() {
			fmt.Fprintf(w, "      | %s\n", plain(rule))
		}
	}
	return failed
}
