package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/reactord/reactord/bench/load"
	"github.com/reactord/reactord/bench/proc"
)

const (
	startLimit = 10 * time.Second       // for a server to listen
	warmup     = 250 * time.Millisecond // load before the measurement
	settle     = 1 * time.Second        // idle connections, before their memory is read
	slack      = 30 * time.Second       // a measurement takes at most this much longer than its load
)

// A sample is what one measurement of one peer found.
type sample struct {
	Result    *load.Result `json:"result,omitempty"`
	Bytes     int64        `json:"bytes,omitempty"`      // of a bulk case, that came through
	RSSBefore int64        `json:"rss_before,omitempty"` // bytes, before the first connection
	RSSWith   int64        `json:"rss_with,omitempty"`   // bytes, with all connections idle
	Figure    float64      `json:"figure"`               // what the case compares, in its unit
}

// measure starts a peer and the load, runs the case once, and ends both.
func measure(ctx context.Context, w *workshop, c *benchCase, p *peer, d time.Duration) (*sample, error) {
	ctx, cancel := context.WithTimeout(ctx, d+slack)
	defer cancel()
	switch {
	case c.Bulk:
		return measureBulk(ctx, w, c, p, d)
	case c.UDP:
		return measureDatagrams(ctx, w, c, p, d)
	}
	return measureMessages(ctx, w, c, p, d)
}

// measureMessages has the load of package load: messages in a closed loop, or idle connections.
func measureMessages(ctx context.Context, w *workshop, c *benchCase, p *peer, d time.Duration) (*sample, error) {
	drive, err := startDrive(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	defer drive.child.Stop()
	server, listen, err := startPeer(ctx, w, p, drive.upstream, awaitListening)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	// Once a message has come back, every process that serves is there and has set itself up; a
	// connection alone may only have met the backlog.
	if _, err := drive.run(load.Plan{Target: listen, Conns: 1, Size: c.Size, Verify: 1}); err != nil {
		return nil, err
	}
	pids, err := proc.Tree(server.Pid())
	if err != nil {
		return nil, err
	}
	plan := load.Plan{Target: listen, Conns: c.Conns, Size: c.Size, Verify: 4, Warmup: warmup, Time: d, Pids: pids}
	if c.Idle {
		plan.Verify, plan.Hold = 1, true
		return measureIdle(ctx, drive, plan)
	}
	return measureLoad(drive, plan)
}

// startPeer starts a server and returns once await has, which waits until it listens.
func startPeer(ctx context.Context, w *workshop, p *peer, upstream string, await awaiting) (server *proc.Child, listen string, err error) {
	if listen, err = freeAddress(); err != nil {
		return nil, "", err
	}
	argv, err := p.command(w, listen, upstream)
	if err != nil {
		return nil, "", err
	}
	if server, err = w.start(ctx, w.serverCPU, argv); err != nil {
		return nil, "", err
	}
	if err := await(ctx, server, listen); err != nil {
		server.Stop()
		return nil, "", err
	}
	return server, listen, nil
}

// An awaiting returns when a server serves at an address, or with an error when that has taken too long.
type awaiting func(ctx context.Context, server *proc.Child, address string) error

func measureLoad(drive *driver, plan load.Plan) (*sample, error) {
	report, err := drive.run(plan)
	if err != nil {
		return nil, err
	}
	r := report.Result
	switch {
	case r == nil || r.Messages == 0:
		return nil, errors.New("no message came back")
	case r.ServerCPU == 0:
		return nil, errors.New("messages came back, but the server's processes used no CPU time")
	}
	return &sample{Result: r, Figure: perMessage(r)}, nil
}

// perMessage is the server's CPU time for each message, in microseconds.
func perMessage(r *load.Result) float64 {
	return float64(r.ServerCPU.Nanoseconds()) / 1e3 / float64(r.Messages)
}

// measureIdle compares the memory of the server's processes before the first connection with that
// while all are idle, each having carried one message.
func measureIdle(ctx context.Context, drive *driver, plan load.Plan) (*sample, error) {
	before, err := proc.RSS(plan.Pids...)
	if err != nil {
		return nil, err
	}
	report, err := drive.run(plan)
	if err != nil {
		return nil, err
	}
	if !report.Ready {
		return nil, errors.New("the load did not hold its connections")
	}
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	with, err := proc.RSS(plan.Pids...)
	if err != nil {
		return nil, err
	}
	drive.child.Stdin.Close() // releases the connections
	report, err = drive.next()
	if err != nil {
		return nil, err
	}
	s := &sample{Result: report.Result, RSSBefore: before, RSSWith: with}
	s.Figure = float64(with-before) / 1024 / float64(plan.Conns)
	return s, nil
}

// awaitListening returns when a connection to address succeeds.
func awaitListening(ctx context.Context, server *proc.Child, address string) error {
	return await(ctx, server, address, func() bool {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		c.Close()
		return true
	})
}

// await returns when there says that the server is there.
func await(ctx context.Context, server *proc.Child, address string, there func() bool) error {
	deadline := time.After(startLimit)
	for !there() {
		select {
		case <-server.Done():
			return server.Err()
		case <-deadline:
			return fmt.Errorf("it did not listen on %s within %v", address, startLimit)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// driver is a running load process.
type driver struct {
	child    *proc.Child
	lines    *bufio.Reader
	upstream string
}

func startDrive(ctx context.Context, w *workshop) (*driver, error) {
	child, err := w.start(ctx, w.loadCPU, append(w.self, "drive"))
	if err != nil {
		return nil, err
	}
	d := &driver{child: child, lines: bufio.NewReader(child.Stdout)}
	report, err := d.next()
	if err != nil {
		child.Stop()
		return nil, err
	}
	d.upstream = report.Upstream
	return d, nil
}

// run hands the load its plan and returns its next report.
func (d *driver) run(plan load.Plan) (driveReport, error) {
	if err := json.NewEncoder(d.child.Stdin).Encode(plan); err != nil {
		return driveReport{}, err
	}
	return d.next()
}

// next reads one report. The wait is bounded by the child's context, which kills it.
func (d *driver) next() (driveReport, error) {
	var report driveReport
	line, err := d.lines.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		<-d.child.Done()
		return report, d.child.Err()
	}
	if err != nil {
		return report, err
	}
	if err := json.Unmarshal(line, &report); err != nil {
		return report, err
	}
	if report.Error != "" {
		return report, errors.New(report.Error)
	}
	return report, nil
}
