// Command handler is an echo server in the style of handlers: what a connection has received is sent back from the
// memory that it was received into.
package main

import (
	"log"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/cmdline"
	"github.com/reactord/reactord/reactor/server"
)

// echo serves the connections of a loop.
type echo struct{ server.Base }

func (echo) Data(_ *server.Conn, in, _ []byte) (int, []byte, error) { return len(in), in, nil }

func newEcho(*reactor.Loop) server.Handler { return echo{} }

func main() {
	ctx, listen, cfg := cmdline.Parse()
	if err := server.Serve(ctx, server.Config{Addr: listen, Reactor: cfg}, newEcho); err != nil {
		log.Fatal(err)
	}
}
