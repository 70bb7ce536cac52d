package main

import (
	"context"
	"time"

	"github.com/reactord/reactord/bench/proc"
	"github.com/reactord/reactord/bench/stats"
)

const (
	startSettle = time.Second            // between the start of a server and the reading of its memory
	startPause  = 250 * time.Microsecond // between two tries to connect
)

// measureStartMemory measures the resident memory of a server's processes a second after it listens.
func measureStartMemory(ctx context.Context, w *workshop, _ *benchCase, p *peer, _ time.Duration) (*sample, error) {
	upstream, address, err := startUpstream(ctx, w, "echo")
	if err != nil {
		return nil, err
	}
	defer upstream.Stop()
	server, _, err := startPeer(ctx, w, p, address, awaitListening)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	select {
	case <-time.After(startSettle):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	pids, err := proc.Tree(server.Pid())
	if err != nil {
		return nil, err
	}
	rss, err := proc.RSS(pids...)
	return &sample{RSSBefore: rss, Figure: float64(rss) / 1e6}, err
}

// measureStartTime starts a server again and again, and measures the time from its execution until it accepts a
// connection: the median.
func measureStartTime(ctx context.Context, w *workshop, _ *benchCase, p *peer, d time.Duration) (*sample, error) {
	upstream, address, err := startUpstream(ctx, w, "echo")
	if err != nil {
		return nil, err
	}
	defer upstream.Stop()
	var times []float64
	for begun := time.Now(); len(times) == 0 || time.Since(begun) < d; {
		took, err := timeStart(ctx, w, p, address)
		if err != nil {
			return nil, err
		}
		times = append(times, float64(took.Nanoseconds())/1e6)
	}
	return &sample{Starts: times, Figure: stats.Of(times).Median}, nil
}

// timeStart measures one start.
func timeStart(ctx context.Context, w *workshop, p *peer, upstream string) (time.Duration, error) {
	var ready time.Time
	server, _, err := startPeer(ctx, w, p, upstream, func(ctx context.Context, server *proc.Child, address string) error {
		err := await(ctx, server, address, startPause, accepts)
		ready = time.Now()
		return err
	})
	if err != nil {
		return 0, err
	}
	defer server.Stop()
	executed, err := w.executed()
	return ready.Sub(executed), err
}
