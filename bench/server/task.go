package server

import (
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// spawn serves a connection in a coroutine, or closes it if the loop is stopping.
func (s *listener) spawn(fd int) {
	c := new(reactor.Socket)
	c.Init(s.loop, fd)
	s.loop.SpawnOr(s.task(c), func() { sender.Submit(c.Close(), sender.Discard[struct{}]{}) })
}

func (s *listener) task(c *reactor.Socket) task.Sender {
	return task.New(func(t *task.T) error {
		defer task.Unstoppable(t, func() { _, _ = task.Await(t, c.Close()) })
		_ = c.SetNoDelay(true) // a unix socket has no such option
		if s.cfg.Behaviour == "echo" {
			return echo(t, c)
		}
		return s.cfg.serve(&taskStream{t, c})
	})
}

// echo sends back what it receives. It holds no buffer while it waits for more.
func echo(t *task.T, c *reactor.Socket) error {
	for {
		in, err := task.Await(t, c.RecvLease())
		if err != nil || in.Len() == 0 {
			return err
		}
		_, err = task.Await(t, c.SendAll(in.Bytes()))
		in.Release()
		if err != nil {
			return err
		}
	}
}

// taskStream is a socket as a stream that suspends its coroutine.
type taskStream struct {
	t *task.T
	c *reactor.Socket
}

func (s *taskStream) Read(p []byte) (int, error) { return task.Await(s.t, s.c.Recv(p)) }

func (s *taskStream) Write(p []byte) error {
	_, err := task.Await(s.t, s.c.SendAll(p))
	return err
}

func (s *taskStream) Sleep(d time.Duration) error {
	_, err := task.Await(s.t, s.c.Loop().SleepFor(d))
	return err
}
