package server

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/reactord/reactord/bench/engine"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/reactor/server"
	"github.com/reactord/reactord/sender/task"
)

// serveTasks serves each connection in a coroutine, with package server.
func (c *Config) serveTasks(ctx context.Context, target engine.Target) error {
	cfg, err := c.serverConfig(target)
	if err != nil {
		return err
	}
	return ended(server.ServeTask(ctx, cfg, func(t *task.T, conn net.Conn) error {
		if c.Behaviour == "echo" { // as a user writes it: each frame is memory of an idle connection
			_, err := io.Copy(conn, conn)
			return err
		}
		return c.serve(conn, func(d time.Duration) error {
			_, err := task.Await(t, plain(conn).Loop().SleepFor(d))
			return err
		})
	}))
}

// plain returns the connection of a task without TLS.
func plain(conn net.Conn) *netconn.Conn {
	if s, ok := conn.(*netconn.TLS); ok {
		conn = s.NetConn()
	}
	return conn.(*netconn.Conn)
}
