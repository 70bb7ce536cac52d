package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/reactord/reactord/bench/record"
)

// compared is the duration of the load that is compared byte by byte, before the measurement.
const compared = 200 * time.Millisecond

// generate runs the load generator on the CPU of the load, and returns its result. Any failure is an error, and so is a
// run without messages.
func generate(ctx context.Context, w *workshop, pids []int, args []string) (*record.Result, error) {
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
	if n := len(found.Measured()); found.Failed != "" || n != 1 {
		return nil, fmt.Errorf("load: %d measurements instead of 1: %s", n, found.Failed)
	}
	sum := record.NewWindow()
	for i := range found.Phases {
		sum.Add(found.Phases[i].Total())
	}
	switch {
	case sum.Errors.Total() > 0:
		return nil, fmt.Errorf("%d failures: %s", sum.Errors.Total(), sum.Errors.String())
	case sum.BytesIn == 0:
		return nil, errors.New("nothing came back")
	}
	return found, nil
}

// A result is a measured phase of the generator.
type result struct {
	Verified  int64         // received bytes that were compared, in all phases
	Messages  int64         // messages whose reply was complete
	Elapsed   time.Duration // wall clock
	ServerCPU time.Duration // CPU time of the server's processes
	LoadCPU   time.Duration // CPU time of the generator
	Median    time.Duration // latency
	P99       time.Duration

	// The time that the threads of a side were ready to run but had no CPU. It is 0 for a generator that shares its CPU
	// with an upstream.
	ServerWait, LoadWait time.Duration
}

func resultOf(found *record.Result) *result {
	p := found.Measured()[0]
	r := &result{
		Messages: p.Total().Messages,
		Elapsed:  time.Duration(p.Elapsed * 1e9),
		LoadCPU:  p.Client.CPU,
		Median:   p.Total().Latency.At(50),
		P99:      p.Total().Latency.At(99),
	}
	if p.Target != nil {
		r.ServerCPU, r.ServerWait = p.Target.CPU, p.Target.Wait
	}
	for _, p := range found.Phases {
		r.Verified += p.Total().Verified
	}
	return r
}
