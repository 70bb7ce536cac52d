//go:build linux

package netconn_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// TestSimulated plays an echo server of tasks on simulated kernels. Another thread closes some of the connections, and
// moves deadlines of others.
func TestSimulated(t *testing.T) {
	for seed := range testenv.Seeds(2000) {
		if err := simring.Play(echoProgram, seed, simring.Flawless, nil); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// talkAddress is where the clients of a program.Talk connect.
var talkAddress = netip.MustParseAddrPort("127.0.0.1:7")

// echoServer is the server of echoProgram.
type echoServer struct {
	k     *simring.Kernel
	l     *reactor.Loop
	conns []*netconn.Conn
	begun int
	ended int
}

func echoProgram(k *simring.Kernel) (check func()) {
	s := &echoServer{k: k, l: program.NewLoop(k)}
	up, over := false, false
	k.Go("loop", func(*simring.Thread) {
		err := s.l.Run(func() {
			s.l.Spawn(task.New(s.accept))
			up = true
		})
		over = true
		program.Ended(k, s.l, err)
	})
	talk := program.NewTalk(k)
	clients := talk.Clients(func() bool { return up || over })
	k.Go("meddler", func(th *simring.Thread) {
		for range k.Rand().IntN(8) {
			th.Sleep(time.Duration(k.Rand().Int64N(int64(5 * time.Millisecond))))
			s.meddle()
		}
		th.Until(func() bool { return *clients == 0 })
		s.l.Stop()
	})
	return func() {
		for _, p := range talk.Parties() {
			p.Judge(true)
		}
		if s.begun != s.ended {
			k.Errorf("%d tasks began and %d ended", s.begun, s.ended)
		}
	}
}

// meddle is called on another thread than the loop's.
func (s *echoServer) meddle() {
	if len(s.conns) == 0 {
		return
	}
	c := s.conns[s.k.Rand().IntN(len(s.conns))]
	var err error
	switch s.k.Rand().IntN(3) {
	case 0:
		err = c.Close()
	case 1:
		err = c.SetReadDeadline(time.Unix(1, 0))
	default:
		err = c.SetDeadline(time.Now().Add(time.Hour))
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		s.k.Errorf("on another thread: %v", err)
	}
}

func (s *echoServer) accept(t *task.T) error {
	var ln reactor.Socket
	for ln.OpenListener(s.l, reactor.ListenConfig{Addr: talkAddress}) != nil { // until there are descriptors
	}
	defer task.Unstoppable(t, func() { _, _ = task.Await(t, ln.Close()) })
	for {
		fd, err := task.Await(t, ln.Accept())
		switch {
		case errors.Is(err, sender.ErrStopped):
			return err
		case err != nil: // until there are descriptors, or because the connection is gone
			if _, err := task.Await(t, s.l.SleepFor(time.Millisecond)); err != nil {
				return err
			}
			continue
		}
		socket := new(reactor.Socket)
		socket.Init(s.l, fd)
		_ = socket.SetAbort()
		s.begun++
		s.l.SpawnOr(task.New(func(t *task.T) error {
			defer func() { s.ended++ }()
			return s.echo(netconn.New(t, socket))
		}), func() {
			s.ended++
			op := new(reactor.CloseOp)
			socket.Close().Connect(op, sender.Discard[struct{}]{})
			op.Start()
		})
	}
}

// echo sends back what it receives. A connection that does not end with EOF is reset.
func (s *echoServer) echo(c *netconn.Conn) error {
	s.conns = append(s.conns, c)
	defer func() {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			s.k.Errorf("Close: %v", err)
		}
	}()
	if s.k.Rand().IntN(2) == 0 {
		c.SetIdle(time.Duration(1 + s.k.Rand().Int64N(int64(20*time.Millisecond))))
	}
	var n int64
	var err error
	if s.k.Rand().IntN(2) == 0 {
		n, err = io.Copy(c, c)
	} else {
		n, err = io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{c}, make([]byte, 1+s.k.Rand().IntN(1024)))
	}
	switch {
	case err == nil:
		return c.Socket().SetLinger(-1)
	case errors.Is(err, sender.ErrStopped), errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded):
	default:
		if _, ok := errors.AsType[*net.OpError](err); !ok {
			s.k.Errorf("behind %d bytes: %v", n, err)
		}
	}
	return nil
}
