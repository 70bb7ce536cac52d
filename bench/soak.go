package main

import (
	"context"
	"fmt"
	"time"

	"github.com/reactord/reactord/bench/engine"
	"github.com/reactord/reactord/bench/trial"
)

// soakCommand uses many kinds of connections, and watches the target for growth.
type soakCommand struct {
	loadFlags
	Metrics string `placeholder:"URL" help:"Prometheus metrics of the target, for its live heap and goroutines: tcp://HOST:PORT[/PATH] or http://HOST:PORT[/PATH]. Default path: /metrics."`
}

// Run generates an open loop of the work of soakParts.
func (c *soakCommand) Run(ctx context.Context) error {
	c.soak = &trial.Soak{}
	if c.Metrics != "" {
		var err error
		if c.soak.Metrics, err = trial.MetricsURL(c.Metrics); err != nil {
			return fmt.Errorf("--metrics: %w", err)
		}
	}
	return c.run(ctx, "soak", soakParts(c.Connections)...)
}

// soakParts returns the kinds of connections. A weight is a share of the rate in per cent. A piece of work is a
// connection, or a message for connections that stay open. Short connections stay open for a while, so that several
// are open at the same time: what a connection leaves behind may depend on its neighbours.
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
