package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/reactord/reactord/bench/load"
	"github.com/reactord/reactord/bench/record"
)

// compared is how long what comes back is compared byte by byte, before anything is measured.
const compared = 200 * time.Millisecond

// generate runs the load generator, on the CPU of the load, and returns what the phase that it measured
// found. A failure of any kind in that phase is an error, and so is it that nothing came.
func generate(ctx context.Context, w *workshop, pids []int, args []string) (*record.Phase, error) {
	file := w.path("result.json")
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	args = append(args, "--json", file)
	for _, pid := range pids {
		args = append(args, "--pid", strconv.Itoa(pid))
	}
	child, err := w.start(ctx, w.loadCPU, append(w.self, args...))
	if err != nil {
		return nil, err
	}
	defer child.Stop()
	if _, err := io.Copy(io.Discard, child.Stdout); err != nil {
		return nil, err
	}
	<-child.Done()
	found, err := record.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		err = child.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	phases := found.Measured()
	if found.Failed != "" || len(phases) != 1 {
		return nil, fmt.Errorf("load: it measured %d times: %s", len(phases), found.Failed)
	}
	switch sum := phases[0].Total(); {
	case sum.Errors.Total() > 0:
		return nil, fmt.Errorf("%d failures: %s", sum.Errors.Total(), sum.Errors.String())
	case sum.Messages == 0 || sum.BytesIn == 0:
		return nil, errors.New("nothing came back")
	}
	return phases[0], nil
}

// resultOf is what a phase of the generator found, as the other loads say it. How long the generator
// waited for its CPU is left out where an upstream shares that.
func resultOf(p *record.Phase) *load.Result {
	r := &load.Result{
		Messages: p.Total().Messages,
		Elapsed:  time.Duration(p.Elapsed * 1e9),
		LoadCPU:  p.Client.CPU,
	}
	if p.Target != nil {
		r.ServerCPU, r.ServerWait = p.Target.CPU, p.Target.Wait
	}
	return r
}
