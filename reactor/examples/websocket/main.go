// Command websocket serves WebSocket by github.com/coder/websocket and net/http, over connections of loops: /echo sends
// messages back, /broadcast sends them to all who are there.
package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/cmdline"
	"github.com/reactord/reactord/reactor/netconn"
)

// grace is how long the closing handshakes may take once the server is to stop.
const grace = 10 * time.Second

func main() {
	ctx, listen, cfg := cmdline.Parse()
	if err := run(ctx, listen, cfg); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx is done and the connections have ended.
func run(ctx context.Context, listen netip.AddrPort, cfg reactor.Config) error {
	return netconn.Serve(ctx, cfg, reactor.ListenConfig{Addr: listen}, func(ln net.Listener) error {
		return serve(ctx, ln)
	})
}

// serve serves until ctx is done and the connections have ended.
func serve(ctx context.Context, ln net.Listener) error {
	var h hub
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", h.accept(ctx, echo))
	mux.HandleFunc("/broadcast", h.accept(ctx, h.broadcast))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	down := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		down <- s.Shutdown(ctx)
	})
	if err := s.Serve(ln); stop() {
		return err // it has ended by itself
	}
	err := <-down
	h.connections.Wait() // Shutdown does not: they were hijacked
	return err
}
