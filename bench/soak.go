package main

import (
	"context"
	"time"

	"github.com/reactord/reactord/bench/engine"
	"github.com/reactord/reactord/bench/trial"
)

// soakCommand does to a target all that connections do, and watches what the target holds.
type soakCommand struct {
	loadFlags
	Metrics string `placeholder:"URL" help:"The target's Prometheus metrics, for its live heap and its goroutines, such as http://127.0.0.1:9090/metrics."`
}

// Run makes an open loop of the pieces of work that soakParts has.
func (c *soakCommand) Run(ctx context.Context) error {
	c.soak = &trial.Soak{Metrics: c.Metrics}
	return c.run(ctx, "soak", soakParts(c.Connections)...)
}

// soakParts are the kinds of connections. The weights are per cent of the rate: pieces of work a second, which are
// connections but for those that stand and stream. Short ones stay for a while, so that there are always several: what
// connections leave behind may depend on their neighbours.
func soakParts(standing int) []engine.Part {
	const stay = 50 * time.Millisecond
	return []engine.Part{
		{Name: "churn", Weight: 50, Connections: 256, Mode: &engine.Connect{Close: "fin", Size: 512, Stay: stay}},
		{Name: "reset", Weight: 15, Connections: 64, Mode: &engine.Connect{Close: "rst", Size: 512, Stay: stay}},
		{Name: "abandon", Weight: 5, Connections: 16, Mode: &engine.Connect{Close: "rst"}},
		{Name: "half-close", Weight: 15, Connections: 16, Mode: &engine.HalfClose{Size: sizes("16k")}},
		{Name: "stand", Weight: 13, Connections: standing, Mode: &engine.Echo{Size: sizes("64-4k")}},
		{Name: "stream", Weight: 2, Connections: 4, Mode: &engine.Echo{Size: sizes("256k-1024k")}},
	}
}

func sizes(text string) engine.Sizes {
	s, err := engine.ParseSizes(text)
	if err != nil {
		panic(err)
	}
	return s
}
