// Command echo is the shortest server: it sends back what it receives.
package main

import (
	"context"
	"flag"
	"log"
	"net/netip"
	"os/signal"
	"syscall"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
)

type echo struct{ server.Base }

func (echo) Data(_ *server.Conn, in, _ []byte) (int, []byte, error) { return len(in), in, nil }

func main() {
	var cfg server.Config
	flag.TextVar(&cfg.Addr, "listen", netip.MustParseAddrPort("127.0.0.1:7000"), "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := server.Serve(ctx, cfg, func(*reactor.Loop) server.Handler { return echo{} })
	if err != nil {
		log.Fatal(err)
	}
}
