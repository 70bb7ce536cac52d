package server

import (
	"net"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// spawn serves a connection in a coroutine, or closes it if the loop is stopping.
func (s *listener) spawn(fd int) {
	c := new(reactor.Socket)
	c.Init(s.loop, fd)
	s.loop.SpawnOr(s.task(c), func() { sender.Submit(c.Close(), sender.Discard[struct{}]{}) })
}

func (s *listener) task(socket *reactor.Socket) task.Sender {
	return task.New(func(t *task.T) error {
		_ = socket.SetNoDelay(true) // a unix socket has no such option
		conn := netconn.New(t, socket)
		var c net.Conn = conn
		if s.cfg.TLS != nil {
			c = netconn.Server(conn, s.cfg.TLS)
		}
		defer c.Close()
		return s.cfg.serve(c, func(d time.Duration) error {
			_, err := task.Await(t, s.loop.SleepFor(d))
			return err
		})
	})
}
