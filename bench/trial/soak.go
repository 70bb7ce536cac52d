package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reactord/reactord/bench/proc"
	"github.com/reactord/reactord/bench/record"
)

// Soak watches a target for growth. It samples what the target holds every second, and judges the second half of the
// measured samples.
type Soak struct {
	// Metrics is the URL of the target's Prometheus metrics, for its live heap and goroutines. See [MetricsURL]. With ""
	// they are not read.
	Metrics string

	lose        context.CancelCauseFunc // ends the run when a sample fails
	connections int64
}

// begin checks that the target can be sampled.
func (s *Soak) begin(ctx context.Context, res *record.Result) error {
	if len(res.Processes) == 0 {
		return errors.New("a soak samples the processes of the target, and none is visible: name them with --pid")
	}
	_, err := s.sample(ctx, res.Processes)
	return err
}

// observe takes the sample of a point of the series.
func (s *Soak) observe(res *record.Result, p record.Point) {
	s.connections += p.Opened
	sample, err := s.sample(context.Background(), res.Processes)
	if err != nil {
		s.lose(err)
		return
	}
	sample.Seconds, sample.Kind, sample.Connections = p.Seconds, p.Kind, s.connections
	res.Samples = append(res.Samples, sample)
}

// settling is the time between the end of the load and the last sample.
const settling = time.Second

// settle takes the last sample.
func (s *Soak) settle(ctx context.Context, res *record.Result, start time.Time) error {
	select {
	case <-time.After(settling):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	sample, err := s.sample(ctx, res.Processes)
	sample.Seconds, sample.Kind, sample.Connections = time.Since(start).Seconds(), record.After, s.connections
	res.Samples = append(res.Samples, sample)
	return err
}

func (s *Soak) sample(ctx context.Context, pids []int) (out record.Sample, err error) {
	if out.Memory, err = proc.RSS(pids...); err != nil {
		return out, fmt.Errorf("the target's memory: %w", err)
	}
	if out.Descriptors, err = proc.Descriptors(pids...); err != nil {
		return out, fmt.Errorf("the target's descriptors: %w", err)
	}
	if out.Threads, err = proc.Threads(pids...); err != nil {
		return out, fmt.Errorf("the target's threads: %w", err)
	}
	if s.Metrics != "" {
		if err = s.scrape(ctx, &out); err != nil {
			return out, fmt.Errorf("the target's metrics: %w", err)
		}
	}
	return out, nil
}
