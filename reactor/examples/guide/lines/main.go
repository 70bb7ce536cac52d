// Command lines answers each line with its number. It shows what a server with handlers usually needs: framing, state
// of each connection, deadlines, work that blocks, and a graceful end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
	"github.com/reactord/reactord/sender/task"
)

// handler serves the connections of one loop.
type handler struct{ server.Base }

// session is the state of a connection.
type session struct{ lines int }

func newHandler(*reactor.Loop) server.Handler { return handler{} }

// Open prepares the state of an accepted connection.
func (handler) Open(c *server.Conn) { c.SetContext(new(session)) }

// Data takes the bytes that have arrived. Frames calls line for each complete line.
func (h handler) Data(c *server.Conn, in, out []byte) (used int, _ []byte, err error) {
	return server.Frames(c, in, out, server.Lines{Max: 4096}, h.line)
}

// line answers a line. It appends the answer to out; an error ends the connection when that has been sent.
func (handler) line(c *server.Conn, line, out []byte) ([]byte, error) {
	s := c.Context().(*session)
	s.lines++
	switch string(line) {
	case "quit":
		return append(out, "bye\n"...), io.EOF
	case "host":
		c.Pause() // the next line is answered after this one
		c.Loop().Spawn(task.New(func(t *task.T) error {
			name, err := task.Await(t, reactor.Offload(c.Loop(), os.Hostname)) // on another thread, because it may block
			fmt.Fprintln(c, name, err)
			c.Resume()
			return nil
		}))
		return out, nil
	}
	return fmt.Appendf(out, "%d %s\n", s.lines, line), nil
}

// Drain sends a farewell when the server shuts down.
func (handler) Drain(c *server.Conn) { fmt.Fprintln(c, "the server stops") }

// Closed logs why a connection has ended, if that is an error.
func (handler) Closed(_ *server.Conn, err error) {
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		log.Print(err)
	}
}

func main() {
	cfg := server.Config{
		IdleTimeout: time.Minute,      // a connection without traffic ends
		ReadTimeout: 10 * time.Second, // and one that does not complete a line
		Grace:       5 * time.Second,  // how long connections may go on after SIGTERM
		Ready:       func(a net.Addr) { log.Print("listening on ", a) },
	}
	flag.TextVar(&cfg.Addr, "listen", netip.MustParseAddrPort("127.0.0.1:7000"), "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := server.Serve(ctx, cfg, newHandler)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		log.Print(err) // connections were closed at the end of the grace
	} else if err != nil {
		log.Fatal(err)
	}
}
