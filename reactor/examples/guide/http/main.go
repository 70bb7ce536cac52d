// Command http is the server of net/http over connections of loops.
package main

import (
	"context"
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

// run serves until ctx is done and the requests that have begun have ended.
func run(ctx context.Context, addr netip.AddrPort) error {
	s := &http.Server{Handler: http.HandlerFunc(hello), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	listen := reactor.ListenConfig{Addr: addr}
	return netconn.Serve(ctx, reactor.Config{}, listen, func(ln net.Listener) error {
		if err := s.Serve(ln); ctx.Err() == nil { // or ServeTLS
			return err
		}
		limit, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return s.Shutdown(limit) // when it has returned, the loops end, and with them all connections
	})
}

func hello(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }
