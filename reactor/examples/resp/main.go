// Command resp is a server of keys and values that speaks RESP, the protocol of Redis, in the style of handlers.
// Replies to pipelined commands are sent together.
package main

import (
	"log"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/cmdline"
	"github.com/reactord/reactord/reactor/server"
)

// handler serves the connections of a loop.
type handler struct {
	server.Base
	db *database
}

func (h handler) Data(_ *server.Conn, in, out []byte) (int, []byte, error) {
	return h.db.serve(in, out)
}

func main() {
	ctx, listen, loops := cmdline.Parse()
	db := newDatabase()
	cfg := server.Config{Addr: listen, Reactor: loops, MaxUnread: 2 * maxArgument}
	err := server.Serve(ctx, cfg, func(*reactor.Loop) server.Handler { return handler{db: db} })
	if err != nil {
		log.Fatal(err)
	}
}
