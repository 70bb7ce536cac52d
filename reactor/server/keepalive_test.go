//go:build linux

package server_test

import (
	"context"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/reactor/server"
	"github.com/reactord/reactord/sender/task"
)

// optionsOf is TCP_NODELAY, SO_KEEPALIVE, TCP_KEEPIDLE, TCP_KEEPINTVL and TCP_KEEPCNT of a connection.
func optionsOf(s *reactor.Socket) (values [5]int) {
	for i, o := range [][2]int{{unix.IPPROTO_TCP, unix.TCP_NODELAY}, {unix.SOL_SOCKET, unix.SO_KEEPALIVE},
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE}, {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL},
		{unix.IPPROTO_TCP, unix.TCP_KEEPCNT}} {
		values[i], _ = unix.GetsockoptInt(s.Fd(), o[0], o[1])
	}
	return values
}

// Connections of handlers and of tasks have keep-alive as in package net, also those of a listener that was made
// elsewhere, unless that has its own settings.
func TestKeepAlive(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		got := make(chan [5]int, 1)
		open := func(c *server.Conn) { got <- optionsOf(c.Socket()) }
		serveConn := func(_ *task.T, c net.Conn) error {
			got <- optionsOf(c.(*netconn.Conn).Socket())
			return nil
		}
		inherited := func(lc net.ListenConfig) server.Config {
			ln, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { ln.Close() })
			return server.Config{Listeners: []net.Listener{ln}}
		}
		for name, c := range map[string]struct {
			cfg  server.Config
			want [5]int
		}{
			"default":   {server.Config{}, [5]int{1, 1, 15, 15, 9}},
			"set":       {server.Config{KeepAlive: time.Minute}, [5]int{1, 1, 60, 15, 9}},
			"inherited": {inherited(net.ListenConfig{}), [5]int{1, 1, 15, 15, 9}},
		} {
			for _, r := range []*running{
				serve(t, kind, c.cfg, &hooks{open: open}),
				serveTask(t, kind, c.cfg, serveConn),
			} {
				conn := r.dial()
				if values := <-got; values != c.want {
					t.Errorf("%s: %v, want %v", name, values, c.want)
				}
				conn.Close()
				r.end()
			}
		}
		r := serve(t, kind, server.Config{KeepAlive: -1}, &hooks{open: open})
		conn := r.dial()
		if values := <-got; values[0] != 1 || values[1] != 0 {
			t.Errorf("off: %v", values)
		}
		conn.Close()
		r.end()
	})
}
