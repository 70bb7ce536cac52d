package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/reactord/reactord/bench/proc"
)

// measureIdle measures the memory of the server's processes before there are connections, and when all of them are idle
// after one message each.
func measureIdle(ctx context.Context, w *workshop, c *benchCase, p *peer, _ time.Duration) (*sample, error) {
	bed, err := newTestbed(ctx, w, c, p)
	if err != nil {
		return nil, err
	}
	defer bed.stop()
	before, err := proc.RSS(bed.pids...)
	if err != nil {
		return nil, err
	}
	found, err := generate(ctx, w, bed.pids, slices.Concat([]string{"hold", "--hello", "--verify", "--warmup", "0s",
		"--time", w.settle.String(), "--size", strconv.Itoa(c.Size), "--connections", strconv.Itoa(c.Conns)}, bed.args))
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
