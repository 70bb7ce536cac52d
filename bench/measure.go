package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/reactord/reactord/bench/proc"
	"github.com/reactord/reactord/bench/record"
)

// slack bounds the overhead of a measurement on top of its load.
const slack = 2 * time.Minute

// A sample is one measurement of one peer.
type sample struct {
	Result    *result   `json:"result,omitempty"`
	Bytes     int64     `json:"bytes,omitempty"`      // of a bulk case: received by the clients
	RSSBefore int64     `json:"rss_before,omitempty"` // bytes of the server, before the connections
	RSSWith   int64     `json:"rss_with,omitempty"`   // bytes of the server, with all of them idle
	Starts    []float64 `json:"starts,omitempty"`     // milliseconds of each start
	Figure    float64   `json:"figure"`               // what the case compares, in its unit
}

// measure starts a peer, measures it once under the load of the case, and ends it.
func measure(ctx context.Context, w *workshop, c *benchCase, p *peer, d time.Duration) (*sample, error) {
	ctx, cancel := context.WithTimeout(ctx, d+slack)
	defer cancel()
	return c.Method.measure(ctx, w, c, p, d)
}

// measureMessages measures messages or connections in a closed loop, with one outstanding on each connection, or in an
// open loop.
func measureMessages(ctx context.Context, w *workshop, c *benchCase, p *peer, d time.Duration) (*sample, error) {
	bed, err := newTestbed(ctx, w, c, p)
	if err != nil {
		return nil, err
	}
	defer bed.stop()
	args := slices.Concat(c.load(), bed.args, []string{"--connections", strconv.Itoa(c.Conns),
		"--warmup", w.warmup.String(), "--time", d.String()})
	if c.compares() {
		args = append(args, "--verify-first")
	}
	found, err := generate(ctx, w, bed.pids, args)
	if err != nil {
		return nil, err
	}
	r := resultOf(found)
	if c.compares() && r.Verified == 0 {
		return nil, errors.New("no byte that could be compared came back during the warm-up")
	}
	if !c.Operated { // else its upstream has the same CPU
		r.LoadWait = found.Measured()[0].Client.Wait
	}
	if r.ServerCPU == 0 {
		return nil, errors.New("messages came back, but the server's processes used no CPU time")
	}
	if c.Resume {
		if err := enoughResumed(found.Measured()[0].Total()); err != nil {
			return nil, err
		}
	}
	if c.Operated {
		bed.stop() // which completes the access log
		if err := everyLogged(w, c, found); err != nil {
			return nil, err
		}
	}
	return &sample{Result: r, Figure: perMessage(r)}, nil
}

// enoughResumed returns an error if more than a tenth of the connections did a full handshake.
func enoughResumed(w *record.Window) error {
	if w.Resumed*10 < w.Opened*9 {
		return fmt.Errorf("%d of %d connections resumed a TLS session", w.Resumed, w.Opened)
	}
	return nil
}

// everyLogged returns an error if connections are missing in the access log. The last one of each slot may be: the
// server need not have seen its end.
func everyLogged(w *workshop, c *benchCase, found *record.Result) error {
	text, err := os.ReadFile(w.accessLog())
	if err != nil {
		return err
	}
	lines, messages := int64(bytes.Count(text, []byte("\n"))), int64(0)
	for _, p := range found.Phases {
		messages += p.Total().Messages
	}
	if lines < messages-int64(c.Conns) {
		return fmt.Errorf("the access log has %d lines for %d connections", lines, messages)
	}
	return nil
}

// compareAndMeasure runs the load twice: for a short time with every byte compared, and then for the measurement.
func compareAndMeasure(ctx context.Context, w *workshop, server *proc.Child, args []string,
	d time.Duration) (*record.Result, error) {
	if _, err := generate(ctx, w, nil, append(args, "--verify", "--warmup", "0s", "--time",
		compared.String())); err != nil {
		return nil, err
	}
	pids, err := proc.Tree(server.Pid())
	if err != nil {
		return nil, err
	}
	return generate(ctx, w, pids, append(args, "--warmup", w.warmup.String(), "--time", d.String()))
}

// perMessage returns the server's CPU time for each message, in microseconds.
func perMessage(r *result) float64 {
	return float64(r.ServerCPU.Nanoseconds()) / 1e3 / float64(r.Messages)
}
