//go:build linux

package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"

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

// store is a server of lines such as "set color blue" and "get color".
type store struct {
	server.Base
	values map[string]string
}

func (s *store) Data(c *server.Conn, in, out []byte) (int, []byte, error) {
	return server.Frames(c, in, out, server.Lines{Max: 1000}, s.line)
}

func (s *store) line(_ *server.Conn, line, out []byte) ([]byte, error) {
	var command, key, value string
	_, _ = fmt.Sscan(string(line), &command, &key, &value)
	if command == "set" {
		s.values[key] = value
	}
	return fmt.Appendln(out, s.values[key]), nil
}

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
				_, _ = io.WriteString(c, "set color blue\nget color\n")
				b := make([]byte, 10)
				_, _ = io.ReadFull(c, b)
				fmt.Printf("%s", b)
			}()
		},
	}
	_ = server.Serve(ctx, cfg, func(*reactor.Loop) server.Handler { return &store{values: map[string]string{}} })
	// Output:
	// blue
	// blue
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
