// Command goroutine is an echo server in the style of goroutines: one for each connection, as on package net. It is the
// style for programs and libraries that are written for package net.
package main

import (
	"context"
	"errors"
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

// run runs loops, and serves on them until ctx is done.
func run(ctx context.Context, listen netip.AddrPort, cfg reactor.Config) error {
	r, err := reactor.New(cfg)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(nil) }()
	ln, err := netconn.Listen(reactor.ListenConfig{Addr: listen}, r.Loops()...)
	if err == nil {
		serve(ctx, ln)
	}
	r.Stop() // which ends the connections
	return errors.Join(err, <-ended)
}

// serve accepts connections until ctx is done.
func serve(ctx context.Context, ln net.Listener) {
	defer context.AfterFunc(ctx, func() { ln.Close() })()
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go echo(c)
	}
}

func echo(c net.Conn) {
	defer c.Close()
	_, _ = io.Copy(c, c)
}
