// Package cmdline is what the examples' command lines have in common. A program of one's own would have these few lines
// in its main function:
//
//	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
//	defer stop()
//	cfg := server.Config{Addr: netip.MustParseAddrPort("127.0.0.1:7000")}
package cmdline

import (
	"context"
	"flag"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/reactord/reactord/reactor"
)

// Parse parses the command line. It has the flags that were defined before, and:
//
//	-listen   the address to listen on
//	-loops    the number of loops; 0: one for each CPU
//	-ring     auto, io_uring or epoll
//
// The context is done at the first SIGINT or SIGTERM. The second one ends the process.
func Parse() (ctx context.Context, listen netip.AddrPort, cfg reactor.Config) {
	flag.TextVar(&listen, "listen", netip.MustParseAddrPort("127.0.0.1:7000"), "address to listen on")
	ctx, cfg = ParseLoops()
	return ctx, listen, cfg
}

// ParseLoops parses as Parse does, for a program that does not listen.
func ParseLoops() (ctx context.Context, cfg reactor.Config) {
	flag.IntVar(&cfg.Loops, "loops", 1, "number of loops; 0: one for each CPU")
	flag.StringVar((*string)(&cfg.Loop.Ring), "ring", "auto", "auto, io_uring or epoll")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, cfg
}
