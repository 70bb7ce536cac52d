//go:build linux

package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
	"github.com/reactord/reactord/sender/task"
)

type echoHandler struct{ server.Base }

func (echoHandler) Data(_ *server.Conn, in, _ []byte) (int, []byte, error) { return len(in), in, nil }

// An echo server, which ends when ctx is done. Real ones make ctx with signal.NotifyContext.
func ExampleServe() {
	ctx, cancel := context.WithCancel(context.Background())
	cfg := server.Config{
		Addr:  netip.MustParseAddrPort("127.0.0.1:0"),
		Ready: func(a net.Addr) { go client(a, cancel) },
	}
	err := server.Serve(ctx, cfg, func(*reactor.Loop) server.Handler { return echoHandler{} })
	fmt.Println(err)
	// Output:
	// hello
	// <nil>
}

// The same with tasks.
func ExampleServeTask() {
	ctx, cancel := context.WithCancel(context.Background())
	cfg := server.Config{
		Addr:  netip.MustParseAddrPort("127.0.0.1:0"),
		Ready: func(a net.Addr) { go client(a, cancel) },
	}
	err := server.ServeTask(ctx, cfg, func(_ *task.T, c net.Conn) error {
		_, err := io.Copy(c, c)
		return err
	})
	fmt.Println(err)
	// Output:
	// hello
	// <nil>
}

// store knows three commands of Redis, in the inline form of its protocol (RESP): one on each line.
type store struct {
	server.Base
	values map[string]string
}

func (s *store) Data(c *server.Conn, in, out []byte) (int, []byte, error) {
	return server.Frames(c, in, out, server.Lines{Max: 1000}, s.command)
}

func (s *store) command(_ *server.Conn, line, out []byte) ([]byte, error) {
	switch f := strings.Fields(string(line)); {
	case len(f) == 1 && f[0] == "PING":
		return append(out, "+PONG\r\n"...), nil
	case len(f) == 3 && f[0] == "SET":
		s.values[f[1]] = f[2]
		return append(out, "+OK\r\n"...), nil
	case len(f) == 2 && f[0] == "GET":
		return fmt.Appendf(out, "$%d\r\n%s\r\n", len(s.values[f[1]]), s.values[f[1]]), nil
	}
	return append(out, "-ERR unknown command\r\n"...), nil
}

// A store that answers Redis clients which send inline commands. All commands that arrive together are answered with
// one send.
func ExampleFrames() {
	ctx, cancel := context.WithCancel(context.Background())
	cfg := server.Config{
		Addr:    netip.MustParseAddrPort("127.0.0.1:0"),
		Reactor: reactor.Config{Loops: 1}, // so that there is one store
		Ready: func(a net.Addr) {
			go func() {
				defer cancel()
				c, _ := net.Dial("tcp", a.String())
				defer c.Close()
				_, _ = io.WriteString(c, "PING\r\nSET color blue\r\nGET color\r\n")
				b := make([]byte, len("+PONG..+OK..$4..blue.."))
				_, _ = io.ReadFull(c, b)
				fmt.Printf("%q", b)
			}()
		},
	}
	_ = server.Serve(ctx, cfg, func(*reactor.Loop) server.Handler { return &store{values: map[string]string{}} })
	// Output:
	// "+PONG\r\n+OK\r\n$4\r\nblue\r\n"
}

// client says hello, prints the answer, and ends the server.
func client(a net.Addr, cancel func()) {
	defer cancel()
	c, err := net.Dial("tcp", a.String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	_, _ = io.WriteString(c, "hello\n")
	b := make([]byte, 6)
	_, _ = io.ReadFull(c, b)
	fmt.Printf("%s", b)
}
