package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// bulkSeed is that of the bytes of a bulk stream.
const bulkSeed = "1"

// measureBulk lets an upstream send through a proxy as fast as it takes it, to clients that take it as
// fast as it comes. Both are this program's own (`serve chargen`, `stream --direction down`). What
// arrived is what counts, so that nothing in a buffer on the way does.
func measureBulk(ctx context.Context, w *workshop, c *benchCase, p *peer, d time.Duration) (*sample, error) {
	source, err := freeAddress()
	if err != nil {
		return nil, err
	}
	upstream, err := w.start(ctx, w.loadCPU, append(w.self, "serve", "chargen", "--listen", "tcp://"+source, "--seed",
		bulkSeed))
	if err != nil {
		return nil, err
	}
	defer upstream.Stop()
	if err := awaitListening(ctx, upstream, source); err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	server, listen, err := startPeer(ctx, w, p, source, awaitListening)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	args := []string{"stream", "--target", "tcp://" + listen, "--direction", "down", "--chunk", strconv.Itoa(c.Size),
		"--connections", strconv.Itoa(c.Conns), "--seed", bulkSeed}
	found, err := compareAndMeasure(ctx, w, server, args, d)
	if err != nil {
		return nil, err
	}
	s := &sample{Result: resultOf(found), Bytes: found.Measured()[0].Total().BytesIn}
	if s.Result.ServerCPU == 0 {
		return nil, errors.New("bytes came through, but the server's processes used no CPU time")
	}
	s.Figure = float64(s.Result.ServerCPU.Nanoseconds()) / 1e6 / (float64(s.Bytes) / (1 << 30))
	return s, nil
}
