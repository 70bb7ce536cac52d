// Command observe is a server on loops that the program makes itself, so that it can observe them: metrics, profiles,
// and what is in flight.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof" // /debug/pprof/
	"net/netip"
	"os/signal"
	"syscall"

	"github.com/reactord/reactord/metrics"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
)

type echo struct{ server.Base }

func (echo) Data(_ *server.Conn, in, _ []byte) (int, []byte, error) { return len(in), in, nil }

// run serves until ctx is done.
func run(ctx context.Context, cfg server.Config) error {
	r, err := reactor.New(reactor.Config{Loop: reactor.LoopConfig{Name: "echo"}})
	if err != nil {
		return err
	}
	s, err := server.New(cfg, func(*reactor.Loop) server.Handler { return echo{} })
	if err != nil {
		return err
	}
	http.Handle("GET /metrics", metrics.Handler(metrics.NewLoops(r.Loops())))
	http.HandleFunc("GET /inflight", func(w http.ResponseWriter, req *http.Request) {
		_ = reactor.WriteInFlight(req.Context(), w, r.Loops()...)
		fmt.Fprintf(w, "%+v\n", s.Stats())
	})
	context.AfterFunc(ctx, func() {
		s.Shutdown()
		<-s.Done() // at the latest when the grace has passed
		r.Stop()
	})
	err = r.Run(func(l *reactor.Loop) error {
		if err := s.On(l); !errors.Is(err, net.ErrClosed) { // which is: ctx is done already
			return err
		}
		return nil
	})
	return errors.Join(err, s.Err())
}

func main() {
	var cfg server.Config
	flag.TextVar(&cfg.Addr, "listen", netip.MustParseAddrPort("127.0.0.1:7000"), "address to listen on")
	observe := flag.String("observe", "127.0.0.1:7001", "address of /metrics, /inflight and /debug/pprof/")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	go func() { log.Print(http.ListenAndServe(*observe, nil)) }()
	if err := run(ctx, cfg); err != nil {
		log.Fatal(err)
	}
}
