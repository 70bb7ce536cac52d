// Command goroutine is an HTTP server in the style of goroutines: that of net/http, over connections of loops. With
// -tls it serves HTTPS with a certificate of its own, by HTTP/1.1 or HTTP/2.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/cmdline"
	"github.com/reactord/reactord/reactor/examples/internal/selfsigned"
	"github.com/reactord/reactord/reactor/netconn"
)

// grace is how long requests may take once the server is to stop.
const grace = 10 * time.Second

func main() {
	secure := flag.Bool("tls", false, "serve HTTPS")
	ctx, listen, cfg := cmdline.Parse()
	if err := run(ctx, listen, cfg, *secure); err != nil {
		log.Fatal(err)
	}
}

// run runs loops, and serves on them until ctx is done.
func run(ctx context.Context, listen netip.AddrPort, cfg reactor.Config, secure bool) error {
	r, err := reactor.New(cfg)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(nil) }()
	ln, err := netconn.Listen(reactor.ListenConfig{Addr: listen}, r.Loops()...)
	if err == nil {
		err = serve(ctx, ln, secure)
	}
	r.Stop()
	return errors.Join(err, <-ended)
}

// serve serves until ctx is done and the requests that have begun have ended.
func serve(ctx context.Context, ln net.Listener, secure bool) error {
	s := &http.Server{Handler: handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	down := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		down <- s.Shutdown(ctx)
	})
	var err error
	if secure {
		certificate, cerr := selfsigned.New("localhost")
		if cerr != nil {
			return cerr
		}
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
		err = s.ServeTLS(ln, "", "")
	} else {
		err = s.Serve(ln)
	}
	if stop() {
		return err // it has ended by itself
	}
	return <-down
}

// handler is the application.
func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	mux.HandleFunc("GET /count", func(w http.ResponseWriter, r *http.Request) {
		for i := 1000; i > 0; i-- {
			fmt.Fprintln(w, i)
		}
	})
	return mux
}
