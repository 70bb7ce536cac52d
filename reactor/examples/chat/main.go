// Command chat passes each line that a member sends on to all other members, on all loops, in the style of handlers. A
// member that does not read is dropped.
package main

import (
	"log"

	"github.com/reactord/reactord/reactor/examples/internal/cmdline"
	"github.com/reactord/reactord/reactor/server"
)

func main() {
	ctx, listen, loops := cmdline.Parse()
	var h hall
	if err := server.Serve(ctx, server.Config{Addr: listen, Reactor: loops}, h.newRoom); err != nil {
		log.Fatal(err)
	}
}
