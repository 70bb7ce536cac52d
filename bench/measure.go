package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/reactord/reactord/bench/proc"
	"github.com/reactord/reactord/bench/record"
)

const (
	startLimit = 10 * time.Second       // until a server listens
	warmup     = 250 * time.Millisecond // load before the measurement
	settle     = 3 * time.Second        // connections are idle for this time before their memory is read
	slack      = 30 * time.Second       // the longest overhead of a measurement on top of its load
)

// A sample is one measurement of one peer.
type sample struct {
	Result    *result `json:"result,omitempty"`
	Bytes     int64   `json:"bytes,omitempty"`      // of a bulk case: received by the clients
	RSSBefore int64   `json:"rss_before,omitempty"` // bytes, before the connections
	RSSWith   int64   `json:"rss_with,omitempty"`   // bytes, with all of them idle
	Figure    float64 `json:"figure"`               // what the case compares, in its unit
}

// measure starts a peer, measures it once under the load of the case, and ends it.
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

// measureMessages measures messages in a closed loop, with one outstanding on each connection, or in an open loop, or
// idle connections. The clients and the upstream of a proxy are one process with one loop.
func measureMessages(ctx context.Context, w *workshop, c *benchCase, p *peer, d time.Duration) (*sample, error) {
	upstream, args := "", []string{"--size", strconv.Itoa(c.Size)}
	load, probe := []string{"echo"}, []string{"echo"}
	switch {
	case c.Load != nil:
		load, probe, args = c.Load[:1], c.Load[:1], slices.Clone(c.Load[1:])
	case c.Rate != 0:
		load = []string{"rate", "--rate", strconv.Itoa(c.Rate)}
	}
	if c.Proxy {
		address, err := freeAddress()
		if err != nil {
			return nil, err
		}
		upstream, args = address, append(args, "--upstream", "tcp://"+address)
	}
	server, listen, err := startPeer(ctx, w, p, upstream, awaitListening)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	args = append(args, "--target", c.target(listen))
	// When a message has come back, every process of the server has started. A connection alone may still be in the
	// backlog.
	if _, err := generate(ctx, w, nil, slices.Concat(probe, []string{"--connections", "1", "--verify", "--warmup", "0s",
		"--time", "10ms"}, args)); err != nil {
		return nil, err
	}
	pids, err := proc.Tree(server.Pid())
	if err != nil {
		return nil, err
	}
	args = append(args, "--connections", strconv.Itoa(c.Conns))
	if c.Idle {
		return measureIdle(ctx, w, c, pids, args)
	}
	found, err := generate(ctx, w, pids, slices.Concat(load, []string{"--verify-first", "--warmup", warmup.String(),
		"--time", d.String()}, args))
	if err != nil {
		return nil, err
	}
	r := resultOf(found)
	r.LoadWait = found.Measured()[0].Client.Wait
	if r.ServerCPU == 0 {
		return nil, errors.New("messages came back, but the server's processes used no CPU time")
	}
	return &sample{Result: r, Figure: perMessage(r)}, nil
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
	return generate(ctx, w, pids, append(args, "--warmup", warmup.String(), "--time", d.String()))
}

// startPeer starts a server and returns when await says that it serves.
func startPeer(ctx context.Context, w *workshop, p *peer, upstream string,
	await awaiting) (server *proc.Child, listen string, err error) {
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

// An awaiting waits until a server serves at an address. It returns an error after startLimit.
type awaiting func(ctx context.Context, server *proc.Child, address string) error

// perMessage returns the server's CPU time for each message, in microseconds.
func perMessage(r *result) float64 {
	return float64(r.ServerCPU.Nanoseconds()) / 1e3 / float64(r.Messages)
}

// measureIdle measures the memory of the server's processes before there are connections, and when all of them are idle
// after one message each.
func measureIdle(ctx context.Context, w *workshop, c *benchCase, pids []int, args []string) (*sample, error) {
	before, err := proc.RSS(pids...)
	if err != nil {
		return nil, err
	}
	found, err := generate(ctx, w, pids, append([]string{"hold", "--hello", "--verify", "--warmup", "0s", "--time",
		settle.String()}, args...))
	if err != nil {
		return nil, err
	}
	s := &sample{Result: resultOf(found), RSSBefore: before, RSSWith: before}
	for _, p := range found.Phases {
		if p.Target == nil {
			return nil, errors.New("the memory of the server's processes is unknown")
		}
		s.RSSWith += p.Target.Memory
	}
	if n := s.Result.Verified / int64(c.Size); n != int64(c.Conns) {
		return nil, fmt.Errorf("%d messages came back over %d connections", n, c.Conns)
	}
	s.Figure = float64(s.RSSWith-s.RSSBefore) / 1024 / float64(c.Conns)
	return s, nil
}

// awaitListening waits until a connection to address succeeds.
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

// await waits until there returns true.
func await(ctx context.Context, server *proc.Child, address string, there func() bool) error {
	deadline := time.After(startLimit)
	for !there() {
		select {
		case <-server.Done():
			return server.Err()
		case <-deadline:
			return fmt.Errorf("the server did not listen on %s within %v", address, startLimit)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}
