// Command http is the server of net/http over connections of loops.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os/signal"
	"syscall"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
)

func main() {
	var addr netip.AddrPort
	flag.TextVar(&addr, "listen", netip.MustParseAddrPort("127.0.0.1:8080"), "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, addr); err != nil {
		log.Fatal(err)
	}
}

// run runs loops, and serves on them until ctx is done.
func run(ctx context.Context, addr netip.AddrPort) error {
	r, err := reactor.New(reactor.Config{}) // a loop for each CPU
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(nil) }()
	ln, err := netconn.Listen(reactor.ListenConfig{Addr: addr}, r.Loops()...)
	if err == nil {
		err = serve(ctx, ln)
	}
	r.Stop() // last, because it ends the connections
	return errors.Join(err, <-ended)
}

// serve serves until ctx is done and the requests that have begun have ended. All of it is net/http's.
func serve(ctx context.Context, ln net.Listener) error {
	s := &http.Server{Handler: http.HandlerFunc(hello), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(ln) }() // or ServeTLS
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return s.Shutdown(limit)
}

func hello(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }
