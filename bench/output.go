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

// outputs are the terminal, files and exporter that a run writes to.
type outputs struct {
	flags    *loadFlags
	exporter *report.Exporter
	log      *os.File
	buffer   *bufio.Writer
	lines    bool // the terminal shows a line to be overwritten
}

// outputs opens the files that are written during the run, and checks the files that are written after it.
func (f *loadFlags) outputs(r *trial.Run) (o *outputs, err error) {
	o = &outputs{flags: f}
	for _, name := range []string{f.JSON, f.CSV, f.HTML} {
		if err := writable(name); err != nil {
			return nil, err
		}
	}
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
	size, err := unix.IoctlGetWinsize(int(os.Stderr.Fd()), unix.TIOCGWINSZ)
	terminal := err == nil
	r.Progress = func(p record.Point) {
		if o.exporter != nil {
			o.exporter.Add(p)
		}
		if terminal && p.Whole() {
			fmt.Fprintf(os.Stderr, "\r\x1b[K%s", cut(report.ProgressLine(p), int(size.Col)))
			o.lines = true
		}
	}
	return o, nil
}

// writable returns the error that writing a file would meet, so that it is reported before a long run. It does not
// change the file.
func writable(name string) error {
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// cut shortens a line to the columns of the terminal. 0 columns means unknown.
func cut(line string, columns int) string {
	if runes := []rune(line); columns > 0 && len(runes) >= columns {
		return string(runes[:columns-1])
	}
	return line
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
