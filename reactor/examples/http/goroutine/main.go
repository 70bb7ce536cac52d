// Command goroutine is an HTTP server in the style of goroutines: that of net/http, over connections of loops. With
// -tls it serves HTTPS with a certificate that it makes, by HTTP/1.1 or HTTP/2.
package main

import (
	"context"
	"crypto/tls"
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

// run serves until ctx is done and the requests that have begun have ended.
func run(ctx context.Context, listen netip.AddrPort, cfg reactor.Config, secure bool) error {
	s := &http.Server{Handler: handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	if secure {
		certificate, err := selfsigned.New("localhost")
		if err != nil {
			return err
		}
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	}
	return netconn.Serve(ctx, cfg, reactor.ListenConfig{Addr: listen}, func(ln net.Listener) error {
		err := serve(s, ln)
		if ctx.Err() == nil {
			return err // it has ended by itself
		}
		left, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		return s.Shutdown(left)
	})
}

func serve(s *http.Server, ln net.Listener) error {
	if s.TLSConfig != nil {
		return s.ServeTLS(ln, "", "")
	}
	return s.Serve(ln)
}

// handler returns the application.
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
