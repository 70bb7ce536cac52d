package program

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
)

// Tasks runs an echo server with a task for each connection, and its clients. Another thread stops some of the tasks,
// and sometimes a loop.
func Tasks(k *simring.Kernel) (check func()) {
	s := &taskServer{k: k}
	loops := make([]*reactor.Loop, 1+k.Rand().IntN(2))
	for i := range loops {
		loops[i] = NewLoop(k)
	}
	all := runLoops(k, loops, func(l *reactor.Loop) {
		launch(k, l, func(t *task.T) error { return s.accept(t, l) }, nil)
	})
	talk := NewTalk(k)
	early := all.endSoon(k, talk.Clients(all.Up), s.stopSome)
	return func() {
		for _, p := range talk.Parties() {
			p.Judge(early)
		}
		for _, c := range s.conns {
			if c.taskRun.ended != 1 {
				k.Errorf("the task of a connection completed %d times", c.taskRun.ended)
			}
		}
	}
}

// taskServer accepts connections and starts a task for each.
type taskServer struct {
	k     *simring.Kernel
	conns []*taskConn
}

// taskConn is a connection with its task.
type taskConn struct {
	k       *simring.Kernel
	socket  reactor.Socket
	taskRun *taskRun
}

// stopSome stops some tasks. It is called on another thread.
func (s *taskServer) stopSome() {
	for _, c := range s.conns {
		if c.taskRun != nil && s.k.Rand().IntN(2) == 0 {
			c.taskRun.source.RequestStop()
		}
	}
}

func (s *taskServer) accept(t *task.T, l *reactor.Loop) error {
	var socket reactor.Socket
	for socket.OpenListener(l, reactor.ListenConfig{Addr: address}) != nil { // until there are descriptors
	}
	defer closeAll(s.k, t, &socket)
	for {
		fd, err := task.Await(t, socket.Accept())
		switch {
		case stopped(err):
			return err
		case err != nil: // until there are descriptors, or because the connection is gone
			if _, err := task.Await(t, l.SleepFor(time.Millisecond)); err != nil {
				return err
			}
			continue
		}
		c := &taskConn{k: s.k}
		c.socket.Init(l, fd)
		s.conns = append(s.conns, c)
		c.taskRun = launch(s.k, l, c.echo, c.ended)
	}
}

// ended resets the connection of a task that has not begun.
func (c *taskConn) ended(j *taskRun) {
	if !j.began {
		_ = c.socket.SetAbort()
		closeDetached(c.k, &c.socket)
	}
}

// echo sends back what it receives until EOF. A connection that ends otherwise is reset.
func (c *taskConn) echo(t *task.T) (err error) {
	eof := false
	defer func() {
		if !eof {
			_ = c.socket.SetAbort()
		}
		closeAll(c.k, t, &c.socket)
	}()
	leased := c.k.Rand().IntN(2) == 0
	for {
		eof, err = c.turn(t, leased)
		switch {
		case stopped(err):
			return err
		case err != nil || eof:
			return nil
		}
	}
}

// turn receives once, into a leased buffer or its own, and sends the bytes back, zero-copy or not. eof: the peer has
// half-closed.
func (c *taskConn) turn(t *task.T, leased bool) (eof bool, err error) {
	buf := make([]byte, 1+c.k.Rand().IntN(1024))
	if leased {
		lease, err := task.Await(t, c.socket.RecvLease())
		if err != nil || lease.Len() == 0 {
			return err == nil, err
		}
		defer lease.Release()
		buf = lease.Bytes()
	} else {
		n, err := task.Await(t, c.socket.Recv(buf))
		if err != nil || n == 0 {
			return err == nil, err
		}
		buf = buf[:n]
	}
	sent := 0
	if c.k.Rand().IntN(2) == 0 {
		sent, err = task.Await(t, c.socket.SendZC(buf))
	} else {
		sent, err = task.Await(t, c.socket.SendAll(buf))
	}
	if err == nil && sent < len(buf) {
		err = unix.ECANCELED // it was stopped
	}
	return false, err
}
