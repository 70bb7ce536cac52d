// Command tls answers lines over TLS, with a task for each connection.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// onLoop is a net.Conn of a task, with TLS or without.
type onLoop interface{ Loop() *reactor.Loop }

// serve serves one connection: code as for package net. While it waits, the loop serves others.
func serve(t *task.T, c net.Conn) error {
	loop := c.(onLoop).Loop()
	in, out := bufio.NewReader(c), bufio.NewWriter(c)
	for {
		_ = c.SetReadDeadline(time.Now().Add(time.Minute)) // for the next line
		line, err := in.ReadSlice('\n')                    // a line that is longer than the buffer is an error
		if errors.Is(err, sender.ErrStopped) {             // the server shuts down
			fmt.Fprintln(out, "the server stops")
			return out.Flush()
		}
		if err != nil {
			return err
		}
		switch string(line) {
		case "host\n": // what blocks runs on another thread
			name, err := task.Await(t, reactor.Offload(loop, os.Hostname))
			if err != nil {
				return err
			}
			fmt.Fprintln(out, name)
		case "wait\n": // time.Sleep would block the loop
			if _, err := task.Await(t, loop.SleepFor(100*time.Millisecond)); err != nil {
				return err
			}
			fmt.Fprintln(out, "waited")
		default:
			fmt.Fprintf(out, "you said %s", line)
		}
		if in.Buffered() == 0 { // answers to lines that came together leave together
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

func main() {
	cfg := server.Config{IdleTimeout: time.Minute, Grace: 5 * time.Second}
	flag.TextVar(&cfg.Addr, "listen", netip.MustParseAddrPort("127.0.0.1:7000"), "address to listen on")
	cert := flag.String("cert", "cert.pem", "certificate")
	key := flag.String("key", "key.pem", "its private key")
	flag.Parse()
	pair, err := tls.LoadX509KeyPair(*cert, *key)
	if err != nil {
		log.Fatal(err)
	}
	cfg.TLS = &tls.Config{Certificates: []tls.Certificate{pair}} // without this line it is plain TCP
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := server.ServeTask(ctx, cfg, serve); err != nil {
		log.Fatal(err)
	}
}
