package main

import (
	"encoding/json"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/reactord/reactord/bench/load"
)

// driveCommand is the load side of one measurement, in a process of its own so that it can be put on
// a CPU of its own and nothing else runs in it. It speaks JSON, one value a line:
//
//	out  {"upstream": ADDRESS}   where a proxy finds the upstream
//	in   a load.Plan             once the server listens
//	out  {"ready": true}         if the plan holds: the connections are idle
//	in   end of input            releases what is held; before that, it abandons the run
//	out  {"result": load.Result} or {"error": TEXT}
type driveCommand struct{}

// driveReport is one line that the load writes.
type driveReport struct {
	Upstream string       `json:"upstream,omitempty"`
	Ready    bool         `json:"ready,omitempty"`
	Result   *load.Result `json:"result,omitempty"`
	Error    string       `json:"error,omitempty"`
}

func (driveCommand) Run() error {
	signal.Reset(os.Interrupt, syscall.SIGTERM) // these end it at once
	debug.SetGCPercent(-1)                      // nothing is allocated while it measures
	out := json.NewEncoder(os.Stdout)
	upstream, err := load.ListenUpstream()
	if err != nil {
		return err
	}
	defer upstream.Close()
	if err := out.Encode(driveReport{Upstream: upstream.Addr()}); err != nil {
		return err
	}
	var plan load.Plan
	if err := json.NewDecoder(os.Stdin).Decode(&plan); err != nil {
		return err
	}
	ready := func() { out.Encode(driveReport{Ready: true}) }
	driver, err := load.NewDriver(plan, upstream, os.Stdin, ready)
	if err != nil {
		return out.Encode(driveReport{Error: err.Error()})
	}
	defer driver.Close()
	result, err := driver.Run()
	if err != nil {
		return out.Encode(driveReport{Error: err.Error()})
	}
	return out.Encode(driveReport{Result: &result})
}
