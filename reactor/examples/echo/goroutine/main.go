// Command goroutine is an echo server in the style of goroutines: one for each connection, as on package net. It is the
// style for programs and libraries that are written for package net.
package main

import (
	"context"
	"io"
	"log"
	"net"
	"net/netip"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/cmdline"
	"github.com/reactord/reactord/reactor/netconn"
)

func main() {
	ctx, listen, cfg := cmdline.Parse()
	if err := run(ctx, listen, cfg); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx is done. Then the connections that are left are closed.
func run(ctx context.Context, listen netip.AddrPort, cfg reactor.Config) error {
	return netconn.Serve(ctx, cfg, reactor.ListenConfig{Addr: listen}, serve)
}

// serve accepts connections until the listener is closed.
func serve(ln net.Listener) error {
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		go echo(c)
	}
}

func echo(c net.Conn) {
	defer c.Close()
	_, _ = io.Copy(c, c)
}
