package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactord/reactord/bench/compare"
	"github.com/reactord/reactord/bench/record"
)

// compareCommand compares results that were written by --json.
type compareCommand struct {
	Results []string `arg:"" sep:"none" placeholder:"[NAME=]FILE[,FILE…]" help:"Results. Several files of one name are samples of the same thing. Each name is compared with the first."`
	Metrics []string `placeholder:"NAME" help:"Metrics to compare, such as rate, p99, service-p99, errors or cpu."`
	HTML    string   `name:"html" placeholder:"FILE" help:"Write a page with charts to this file."`
	FailIf  []string `sep:"none" placeholder:"BOUND" help:"Exit with code 2 if a change exceeds this and is significant, such as 'p99>+10%' or 'rate<-5%'. Fewer than 5 samples a side are an error."`
}

func (c *compareCommand) Run() error {
	var bounds []compare.Bound
	metrics := c.Metrics
	if len(metrics) == 0 {
		metrics = slices.Clone(compare.Metrics)
	}
	for _, text := range c.FailIf {
		b, err := compare.ParseBound(text)
		if err != nil {
			return err
		}
		bounds = append(bounds, b)
		if !slices.Contains(metrics, b.Metric) {
			metrics = append(metrics, b.Metric)
		}
	}
	groups, all, err := c.read()
	if err != nil {
		return err
	}
	found, err := compare.Of(groups, metrics)
	if err != nil {
		return err
	}
	fmt.Print(found.Markdown())
	if c.HTML != "" {
		if err := writePage(c.HTML, all, found); err != nil {
			return err
		}
	}
	return broken(bounds, found)
}

// read reads the files, grouped by name.
func (c *compareCommand) read() (groups []compare.Group, all []*record.Result, err error) {
	for _, arg := range c.Results {
		name, files, named := strings.Cut(arg, "=")
		if !named {
			name, files = "", arg
		}
		g := compare.Group{Name: name}
		for file := range strings.SplitSeq(files, ",") {
			r, err := record.ReadFile(file)
			if err != nil {
				return nil, nil, err
			}
			if g.Name == "" {
				g.Name = strings.TrimSuffix(filepath.Base(file), ".json")
			}
			r.Name = g.Name
			g.Results = append(g.Results, r)
			all = append(all, r)
		}
		groups = append(groups, g)
	}
	return groups, all, nil
}

func broken(bounds []compare.Bound, found *compare.Comparison) error {
	var errs []error
	for _, b := range bounds {
		for _, row := range found.Rows {
			switch {
			case row.Metric != b.Metric:
			case !row.Enough:
				errs = append(errs, fmt.Errorf("%v cannot be decided: %s", b, row.Verdict()))
			case b.Broken(row):
				errs = append(errs, fmt.Errorf("%w: %v: %s of %s changed by %s (%s)", errExceeded, b, row.Metric, row.Name,
					row.ChangeText(), row.IntervalText()))
			}
		}
	}
	return errors.Join(errs...)
}
