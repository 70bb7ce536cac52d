package main

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// bulkSeed is the seed of the bytes of a bulk stream.
const bulkSeed = "1"

// measureBulk measures a stream from an upstream through a proxy to clients, as fast as the proxy forwards it. The
// upstream and the clients are this program (`serve chargen`, `stream --direction down`). The bytes that the clients
// receive are counted, so that bytes in buffers are not.
func measureBulk(ctx context.Context, w *workshop, c *benchCase, p *peer, d time.Duration) (*sample, error) {
	upstream, source, err := startUpstream(ctx, w, "chargen", "--seed", bulkSeed)
	if err != nil {
		return nil, err
	}
	defer upstream.Stop()
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
