package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime/debug"

	"github.com/reactord/reactord/bench/load"
)

// driveCommand is the load side of one measurement, in a process of its own so that it can be put on
// a CPU of its own and nothing else runs in it. It speaks JSON, one value a line:
//
//	out  {"upstream": ADDRESS}   where a proxy finds the upstream
//	in   a load.Plan             once the server listens
//	out  {"ready": true}         if the plan holds: the connections are idle
//	out  {"result": load.Result} or {"error": TEXT}
//	in   the next plan, …
//
// The end of the input releases connections that are held, and abandons any other run.
type driveCommand struct{}

// driveReport is one line that the load writes.
type driveReport struct {
	Upstream string       `json:"upstream,omitempty"`
	Ready    bool         `json:"ready,omitempty"`
	Result   *load.Result `json:"result,omitempty"`
	Error    string       `json:"error,omitempty"`
}

func (driveCommand) Run() error {
	debug.SetGCPercent(-1) // nothing is allocated while it measures
	out := json.NewEncoder(os.Stdout)
	upstream, err := load.ListenUpstream()
	if err != nil {
		return err
	}
	defer upstream.Close()
	if err := out.Encode(driveReport{Upstream: upstream.Addr()}); err != nil {
		return err
	}
	in := json.NewDecoder(os.Stdin)
	for {
		var plan load.Plan
		if err := in.Decode(&plan); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		report := driveReport{}
		result, err := drive(plan, upstream, func() error { return out.Encode(driveReport{Ready: true}) })
		if err != nil {
			report.Error = err.Error()
		} else {
			report.Result = &result
		}
		if err := out.Encode(report); err != nil {
			return err
		}
	}
}

// drive runs one plan.
func drive(plan load.Plan, upstream *load.Upstream, ready func() error) (load.Result, error) {
	driver, err := load.NewDriver(plan, upstream, os.Stdin, ready)
	if err != nil {
		return load.Result{}, err
	}
	defer driver.Close()
	return driver.Run()
}
