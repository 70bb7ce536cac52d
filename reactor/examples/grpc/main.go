// Command grpc is a gRPC server over connections of loops. It has the standard health service, which a generated
// service would be registered in addition. With -check it is a client of such a server.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/netip"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/cmdline"
	"github.com/reactord/reactord/reactor/netconn"
)

const (
	grace    = 10 * time.Second // how long calls may take once the server is to stop
	patience = 10 * time.Second // how long the client waits
)

func main() {
	target := flag.String("check", "", "host and port of a server whose health is asked for, instead of listening")
	ctx, listen, cfg := cmdline.Parse()
	if err := run(ctx, listen, cfg, *target); err != nil {
		log.Fatal(err)
	}
}

// run runs loops, and what is to be done on them.
func run(ctx context.Context, listen netip.AddrPort, cfg reactor.Config, target string) error {
	r, err := reactor.New(cfg)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(nil) }()
	if target != "" {
		err = check(ctx, r.Loops()[0], target)
	} else {
		err = serve(ctx, r.Loops(), listen)
	}
	r.Stop()
	return errors.Join(err, <-ended)
}

// serve serves until ctx is done and the calls that have begun have ended.
func serve(ctx context.Context, loops []*reactor.Loop, listen netip.AddrPort) error {
	ln, err := netconn.Listen(reactor.ListenConfig{Addr: listen}, loops...)
	if err != nil {
		return err
	}
	s, h := grpc.NewServer(), health.NewServer()
	grpc_health_v1.RegisterHealthServer(s, h)
	defer context.AfterFunc(ctx, func() {
		h.Shutdown()
		defer time.AfterFunc(grace, s.Stop).Stop()
		s.GracefulStop()
	})()
	return s.Serve(ln) // nil after GracefulStop and Stop
}

// check prints the health of a server, which is an error unless the server is healthy.
func check(ctx context.Context, l *reactor.Loop, target string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := grpc.NewClient("passthrough:///"+target,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return netconn.Dial(ctx, l, "tcp", address)
		}))
	if err != nil {
		return err
	}
	defer c.Close()
	resp, err := grpc_health_v1.NewHealthClient(c).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return err
	}
	log.Print(resp.GetStatus())
	if resp.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return errors.New("the server is not healthy")
	}
	return nil
}
