package reactortest_test

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// address is where servers listen.
var address = netip.MustParseAddrPort("127.0.0.1:7")

// echo is an echo server. A connection that is idle for too long is closed.
func echo(idle time.Duration) func(l *reactor.Loop) error { return echoOf(address, idle) }

// echoAt is an echo server at an address.
func echoAt(addr netip.AddrPort) func(l *reactor.Loop) error { return echoOf(addr, time.Hour) }

func echoOf(addr netip.AddrPort, idle time.Duration) func(l *reactor.Loop) error {
	return func(l *reactor.Loop) error {
		listener := new(reactor.Socket)
		if err := listener.OpenListener(l, reactor.ListenConfig{Addr: addr}); err != nil {
			return err
		}
		l.Spawn(task.New(func(t *task.T) error {
			return acceptEach(t, l, listener, func(t *task.T, c *reactor.Socket) error { return serve(t, l, c, idle) })
		}))
		return nil
	}
}

// acceptEach accepts connections, and has a task for each. When there are no descriptors it backs off.
func acceptEach(t *task.T, l *reactor.Loop, listener *reactor.Socket, f func(*task.T, *reactor.Socket) error) error {
	defer closeSocket(t, listener)
	for {
		fd, err := task.Await(t, listener.Accept())
		switch {
		case errors.Is(err, sender.ErrStopped):
			return err
		case err != nil:
			if _, err := task.Await(t, l.SleepFor(time.Millisecond)); err != nil {
				return err
			}
			continue
		}
		c := new(reactor.Socket)
		c.Init(l, fd)
		l.SpawnOr(task.New(func(t *task.T) error { return f(t, c) }), func() { discard(c) })
	}
}

// serve echoes until the peer's end.
func serve(t *task.T, l *reactor.Loop, c *reactor.Socket, idle time.Duration) error {
	defer closeSocket(t, c)
	buf := make([]byte, 256)
	for {
		n, err := task.Await(t, sender.Timeout(c.Recv(buf), l.SleepFor(idle)))
		switch {
		case errors.Is(err, sender.ErrStopped):
			return err
		case err != nil || n == 0:
			return nil
		}
		if _, err := task.Await(t, c.SendAll(buf[:n])); err != nil {
			return nil
		}
	}
}

func closeSocket(t *task.T, s *reactor.Socket) {
	task.Unstoppable(t, func() { _, _ = task.Await(t, s.Close()) })
}

// discard closes the socket of a task that has not begun.
func discard(s *reactor.Socket) {
	op := new(reactor.CloseOp)
	s.Close().Connect(op, new(sender.Discard[struct{}]))
	op.Start()
}

func TestEcho(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.Loop(reactor.LoopConfig{}, echo(time.Hour))
		for _, name := range []string{"one", "two"} {
			m.Peer(name, func(p *reactortest.Peer) {
				c := p.Dial(address)
				said := make([]byte, 1+m.Rand().IntN(2000))
				for i := range said {
					said[i] = byte(m.Rand().Uint32())
				}
				got := make([]byte, 0, len(said))
				for sent := 0; len(got) < len(said); {
					n := min(len(said)-sent, 300)
					if _, err := c.Write(said[sent : sent+n]); err != nil {
						p.Fatalf("%v", err)
					}
					sent += n
					b := make([]byte, n)
					if _, err := io.ReadFull(c, b); err != nil {
						p.Fatalf("after %d bytes: %v", len(got), err)
					}
					got = append(got, b...)
				}
				if string(got) != string(said) {
					p.Errorf("the echo is not what was said")
				}
				_ = c.CloseWrite()
				if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
					p.Errorf("the end is %d, %v", n, err)
				}
			})
		}
	})
}

// An idle connection is closed, which takes no real time.
func TestIdle(t *testing.T) {
	began := time.Now()
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.Loop(reactor.LoopConfig{}, echo(30*time.Second))
		m.Peer("client", func(p *reactortest.Peer) {
			c := p.Dial(address)
			_, _ = io.WriteString(c, "hello")
			_, _ = io.ReadFull(c, make([]byte, 5))
			since := p.Now()
			_ = c.SetReadDeadline(p.Time().Add(10 * time.Second))
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				p.Errorf("read with a deadline: %v", err)
			}
			_ = c.SetReadDeadline(time.Time{})
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				p.Errorf("the end is %v", err)
			}
			if d := p.Now() - since; d < 29*time.Second || d > 40*time.Second {
				p.Errorf("it was idle for %v", d)
			}
		})
	})
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}
