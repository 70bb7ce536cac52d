// Command task is an HTTP/1.1 server in the style of tasks: net/http parses the requests and formats the responses, on
// the loop's thread. With -tls it serves HTTPS with a certificate that it makes.
package main

import (
	"crypto/tls"
	"flag"
	"log"
	"time"

	"github.com/reactord/reactord/reactor/examples/internal/cmdline"
	"github.com/reactord/reactord/reactor/examples/internal/selfsigned"
	"github.com/reactord/reactord/reactor/server"
)

func main() {
	secure := flag.Bool("tls", false, "serve HTTPS")
	ctx, listen, loops := cmdline.Parse()

	cfg := server.Config{Addr: listen, Reactor: loops, IdleTimeout: time.Minute}
	if *secure {
		certificate, err := selfsigned.New("localhost")
		if err != nil {
			log.Fatal(err)
		}
		cfg.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	}
	if err := server.ServeTask(ctx, cfg, serve); err != nil {
		log.Fatal(err)
	}
}
