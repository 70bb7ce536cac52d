package server

import (
	"context"
	"errors"
	"os"

	"github.com/reactord/reactord/bench/engine"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
)

// serveHandlers serves with handlers of package server.
func (c *Config) serveHandlers(ctx context.Context, target engine.Target) error {
	cfg, err := c.serverConfig(target)
	if err != nil {
		return err
	}
	newHandler := c.newHandler()
	return ended(server.Serve(ctx, cfg, func(*reactor.Loop) server.Handler { return newHandler }))
}

// serverConfig is how package server serves.
func (c *Config) serverConfig(target engine.Target) (cfg server.Config, err error) {
	cfg = server.Config{
		Addr:      target.Addr,
		TLS:       c.TLS,
		Reactor:   c.reactorConfig(),
		Ready:     c.ready,
		Grace:     -1, // the load has ended
		MaxUnread: 64 << 20,
	}
	if target.Scheme == "unix" {
		cfg.Address, err = reactor.UnixAddress(target.Path)
	}
	return cfg, err
}

// ended is the error of a server that has ended. Connections that were open then are no error.
func ended(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// newHandler returns the handler of the behaviour. It has no state of a connection, so all connections share it.
func (c *Config) newHandler() server.Handler {
	switch c.Behaviour {
	case "discard":
		return dataFunc(func(in, _ []byte) (int, []byte, error) { return len(in), nil, nil })
	case "reply":
		answer := make([]byte, c.Reply)
		return dataFunc(func(in, out []byte) (int, []byte, error) {
			requests := len(in) / c.Request
			for range requests {
				out = append(out, answer...)
			}
			return requests * c.Request, out, nil
		})
	case "redis":
		return dataFunc(c.store.Answer)
	}
	return echoHandler{}
}

// echoHandler sends back from where it was received.
type echoHandler struct{ server.Base }

func (echoHandler) Data(_ *server.Conn, in, _ []byte) (int, []byte, error) { return len(in), in, nil }

// dataFunc is a handler that needs no connection.
type dataFunc func(in, out []byte) (used int, _ []byte, err error)

// Open does nothing.
func (dataFunc) Open(*server.Conn) {}

// Data calls the function.
func (f dataFunc) Data(_ *server.Conn, in, out []byte) (int, []byte, error) { return f(in, out) }

// Closed does nothing.
func (dataFunc) Closed(*server.Conn, error) {}
