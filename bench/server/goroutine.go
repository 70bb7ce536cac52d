package server

import (
	"context"
	"errors"
	"os"

	"github.com/reactord/reactord/bench/engine"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
)

// serveGoroutines serves each connection on its own goroutine. The reactor's loops tell the goroutines when a
// connection is ready, as the runtime's poller does for package net.
func (c *Config) serveGoroutines(ctx context.Context, target engine.Target) error {
	cfg := reactor.ListenConfig{Addr: target.Addr}
	if target.Scheme == "unix" {
		var err error
		if cfg.Address, err = reactor.UnixAddress(target.Path); err != nil {
			return err
		}
	}
	r, err := reactor.New(c.reactorConfig())
	if err != nil {
		return err
	}
	l, err := netconn.Listen(cfg, r.Loops()...)
	if err != nil {
		return errors.Join(err, discard(r))
	}
	if target.Scheme == "unix" && target.Path[0] != '@' {
		defer os.Remove(target.Path)
	}
	ran := make(chan error, 1)
	go func() { ran <- r.Run(nil) }()
	err = c.serveListener(ctx, l)
	r.Stop()
	return errors.Join(err, <-ran)
}
