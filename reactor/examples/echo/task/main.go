// Command task is an echo server in the style of tasks: a function in direct style for each connection, on the thread
// of its loop. It holds no buffer while nothing arrives.
package main

import (
	"io"
	"log"
	"net"

	"github.com/reactord/reactord/reactor/examples/internal/cmdline"
	"github.com/reactord/reactord/reactor/server"
	"github.com/reactord/reactord/sender/task"
)

// echo serves one connection. While it waits, the loop serves others.
func echo(_ *task.T, c net.Conn) error {
	_, err := io.Copy(c, c)
	return err
}

func main() {
	ctx, listen, cfg := cmdline.Parse()
	if err := server.ServeTask(ctx, server.Config{Addr: listen, Reactor: cfg}, echo); err != nil {
		log.Fatal(err)
	}
}
