package main

import (
	"context"
	"fmt"
	"time"

	"github.com/reactord/reactord/bench/machine"
)

// suiteMachine is what a report says about the machine.
type suiteMachine struct {
	machine.Machine
	ServerCPU int `json:"server_cpu"`
	LoadCPU   int `json:"load_cpu"`
}

func (m suiteMachine) String() string {
	return fmt.Sprintf("%s, Linux %s, %s, %d CPUs, %s, revision %s, TCP congestion control %s.",
		m.Date.Format(time.DateOnly), m.Kernel, m.CPU, m.CPUs, m.Go, m.Revision, m.Congestion)
}

func thisMachine(ctx context.Context, w *workshop) suiteMachine {
	return suiteMachine{Machine: machine.This(ctx), ServerCPU: w.serverCPU, LoadCPU: w.loadCPU}
}
