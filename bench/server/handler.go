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

// highWater is how much may be unsent before a connection is not read from.
const highWater = 256 << 10

// serverConfig returns the configuration of package server.
func (c *Config) serverConfig(target engine.Target) (cfg server.Config, err error) {
	cfg = server.Config{
		Addr:      target.Addr,
		TLS:       c.TLS,
		Reactor:   c.reactorConfig(),
		Ready:     c.ready,
		Grace:     -1, // the load has ended
		MaxUnread: 64 << 20,
		HighWater: highWater,
	}
	if target.Scheme == "unix" {
		cfg.Address, err = reactor.UnixAddress(target.Path)
	}
	return cfg, err
}

// ended returns the error of a server that has ended. Connections that were open then are no error.
func ended(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// newHandler returns the handler of the behaviour, which all connections share.
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
	case "chargen":
		return chargen{pattern: c.pattern()}
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

// chargen sends a pattern without end.
type chargen struct {
	server.Base
	pattern *engine.Pattern
}

// Open begins to send.
func (h chargen) Open(c *server.Conn) {
	c.SetContext(new(int64)) // the place in the pattern
	h.Writable(c)
}

// Data drops what is received.
func (chargen) Data(_ *server.Conn, in, _ []byte) (int, []byte, error) { return len(in), nil, nil }

// Writable continues, until so much is unsent that it is called again.
func (h chargen) Writable(c *server.Conn) {
	for at := c.Context().(*int64); c.Unsent() <= highWater; *at += chunk {
		if _, err := c.Write(h.pattern.At(*at, chunk)); err != nil {
			return
		}
	}
}
