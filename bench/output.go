package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/bench/compare"
	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/bench/report"
	"github.com/reactord/reactord/bench/trial"
)

// outputs is where a run's figures go.
type outputs struct {
	flags    *loadFlags
	exporter *report.Exporter
	log      *os.File
	buffer   *bufio.Writer
	lines    bool // a line has been shown that is to be overwritten
}

// outputs opens what is written to during the run.
func (f *loadFlags) outputs(r *trial.Run) (o *outputs, err error) {
	o = &outputs{flags: f}
	if f.Prometheus != "" {
		if o.exporter, err = report.NewExporter(f.Prometheus); err != nil {
			return nil, err
		}
	}
	if f.HLog != "" {
		if o.log, err = os.Create(f.HLog); err != nil {
			return nil, err
		}
		o.buffer = bufio.NewWriter(o.log)
		if r.Log, err = record.NewLog(o.buffer, time.Now()); err != nil {
			return nil, err
		}
	}
	terminal := isTerminal(os.Stderr)
	r.Progress = func(p record.Point) {
		if o.exporter != nil {
			o.exporter.Add(p)
		}
		if terminal {
			fmt.Fprintf(os.Stderr, "\r\x1b[K%s", report.ProgressLine(p))
			o.lines = true
		}
	}
	return o, nil
}

// close writes the files.
func (o *outputs) close(res *record.Result) (err error) {
	f := o.flags
	if o.lines {
		fmt.Fprintln(os.Stderr)
	}
	if o.exporter != nil {
		err = o.exporter.Close()
	}
	if o.log != nil {
		err = errors.Join(err, o.buffer.Flush(), o.log.Close())
	}
	if f.JSON != "" {
		err = errors.Join(err, res.WriteFile(f.JSON))
	}
	if f.CSV != "" {
		out, failed := os.Create(f.CSV)
		if failed == nil {
			failed = errors.Join(res.WriteCSV(out), out.Close())
		}
		err = errors.Join(err, failed)
	}
	if f.HTML != "" {
		err = errors.Join(err, writePage(f.HTML, []*record.Result{res}, nil))
	}
	return err
}

// writePage writes a page about results. found may be nil.
func writePage(name string, results []*record.Result, found *compare.Comparison) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(report.Page(out, results, found), out.Close())
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
