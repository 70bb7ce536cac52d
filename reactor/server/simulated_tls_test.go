//go:build linux

package server_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/reactor/server"
	"github.com/reactord/reactord/sender/task"
)

// converse has a client send messages, and expect their echo.
func converse(p *reactortest.Peer, c net.Conn) {
	rng := p.Machine().Rand()
	for range 1 + rng.IntN(4) {
		sent := make([]byte, 1+rng.IntN(20_000))
		for i := range sent {
			sent[i] = byte(rng.Uint32())
		}
		for b := sent; len(b) != 0; { // the echo of a part may be what makes room
			part := b[:min(len(b), 2000)]
			if _, err := c.Write(part); err != nil {
				p.Fatalf("Write: %v", err)
			}
			b = b[len(part):]
			got := make([]byte, len(part))
			if _, err := io.ReadFull(c, got); err != nil || string(got) != string(part) {
				p.Fatalf("the echo is wrong, or %v", err)
			}
		}
	}
}

// on serves on a loop of a machine that may have no descriptor left for the moment.
func on(s *server.Server) func(*reactor.Loop) error {
	return func(l *reactor.Loop) error {
		for {
			switch err := s.On(l); {
			case errors.Is(err, net.ErrClosed): // it was shut down already
				return nil
			case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
			default:
				return err
			}
		}
	}
}

// dial connects. With early the server may have been shut down already; nil: it has.
func dial(p *reactortest.Peer, early bool) *reactortest.Conn {
	if !early {
		return p.Dial(simulated)
	}
	c, err := p.TryDial(simulated)
	if err != nil {
		return nil
	}
	return c
}

// TestSimulatedTLS has handlers with TLS talk to clients of crypto/tls. Others stall, or end in the handshake. The
// server shuts down at any time.
func TestSimulatedTLS(t *testing.T) {
	srv, client := certificate(t)
	reactortest.Run(t, func(m *reactortest.Machine) {
		rng := m.Rand()
		cfg := server.Config{Addr: simulated, TLS: srv, ErrorLog: quiet, HighWater: 1 << (4 + rng.IntN(14)),
			HandshakeTimeout: 5 * time.Minute}
		opened, closed := 0, 0
		h := &hooks{
			open:   func(*server.Conn) { opened++ },
			closed: func(*server.Conn, error) { closed++ },
			data: func(c *server.Conn, in, out []byte) (int, []byte, error) {
				switch n := 1 + rng.IntN(len(in)); rng.IntN(3) {
				case 0:
					_, _ = c.Write(in[:n])
					return n, nil, nil
				case 1:
					return n, in[:n], nil
				default:
					return n, append(out, in[:n]...), nil
				}
			},
		}
		s, err := server.New(cfg, func(*reactor.Loop) server.Handler { return h })
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.IntN(2) {
			m.Loop(reactor.LoopConfig{}, on(s))
		}
		left, early := 0, rng.IntN(3) == 0 && m.Seed() != 0
		peer := func(name string, f func(p *reactortest.Peer, c *reactortest.Conn)) {
			left++
			m.Peer(name, func(p *reactortest.Peer) {
				defer func() {
					if left--; left == 0 {
						s.Shutdown()
					}
				}()
				c := dial(p, early)
				if c == nil {
					return
				}
				defer c.Close()
				f(p, c)
			})
		}
		for range 1 + rng.IntN(3) {
			peer("client", func(p *reactortest.Peer, raw *reactortest.Conn) {
				c := tls.Client(raw, client)
				if early {
					_ = c.Handshake()
					_, _ = io.WriteString(c, "hello")
					_, _ = io.ReadAll(c)
					return
				}
				converse(p, c)
				_ = c.CloseWrite()
				if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
					p.Errorf("behind close_notify: %d, %v", n, err)
				}
			})
		}
		peer("half", func(p *reactortest.Peer, c *reactortest.Conn) {
			_, _ = c.Write([]byte{22, 3, 1, 2, 0})
			p.Sleep(time.Duration(rng.IntN(1e6)))
		})
		peer("silent", func(p *reactortest.Peer, c *reactortest.Conn) {
			began := p.Now()
			_, _ = io.ReadAll(c)
			if took := p.Now() - began; !early && took > 10*time.Minute {
				p.Errorf("it was cut off after %v", took)
			}
		})
		if early {
			m.Peer("stopper", func(p *reactortest.Peer) {
				p.Sleep(time.Duration(rng.IntN(5e6)))
				s.Shutdown()
			})
		}
		m.After(func() {
			if opened != closed {
				m.Errorf("%d connections were opened and %d closed", opened, closed)
			}
			stats := s.Stats()
			if n := stats.Timeouts[server.HandshakeDeadline]; m.Seed() == 0 && (n != 1 || stats.Handshakes != 1) {
				m.Errorf("%d handshakes took too long, and %d failed", n, stats.Handshakes)
			}
		})
	})
}

// A peer that does not read is cut off when it is time.
func TestSimulatedWriteTimeout(t *testing.T) {
	const d = 30 * time.Second
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.SetFaults(reactortest.Faults{})
		var why error
		s, err := server.New(server.Config{Addr: simulated, WriteTimeout: d}, func(*reactor.Loop) server.Handler {
			return &hooks{
				open:   func(c *server.Conn) { _, _ = c.Write(make([]byte, 1<<20)) },
				closed: func(_ *server.Conn, err error) { why = err },
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		m.Loop(reactor.LoopConfig{}, on(s))
		m.Peer("client", func(p *reactortest.Peer) {
			c := p.Dial(simulated)
			for began := p.Now(); why == nil; {
				if p.Sleep(time.Second); p.Now()-began > d+10*time.Second {
					p.Fatalf("it was not cut off")
				}
			}
			timeout, ok := errors.AsType[*server.TimeoutError](why)
			if !ok || timeout.Deadline != server.WriteDeadline || p.Now() < d {
				p.Errorf("closed after %v: %v", p.Now(), why)
			}
			c.Close()
			s.Shutdown()
		})
	})
}

// Servers of tasks run as they are: with faults, and shut down while clients talk.
func TestSimulatedTasks(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		begun, ended := 0, 0
		s, err := server.NewTask(server.Config{Addr: simulated, ErrorLog: quiet, IdleTimeout: time.Minute},
			func(_ *task.T, c net.Conn) error {
				begun++
				defer func() { ended++ }()
				_, err := io.Copy(c, c)
				return err
			})
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + m.Rand().IntN(2) {
			m.Loop(reactor.LoopConfig{}, on(s))
		}
		early := m.Rand().IntN(2) == 0
		left := 3
		for range left {
			m.Peer("client", func(p *reactortest.Peer) {
				defer func() {
					if left--; left == 0 {
						s.Shutdown()
					}
				}()
				c := dial(p, early)
				if c == nil {
					return
				}
				defer c.Close()
				if early {
					_, _ = io.WriteString(c, "hello")
					_, _ = io.ReadAll(c)
					return
				}
				converse(p, c)
			})
		}
		if early {
			m.Peer("stopper", func(p *reactortest.Peer) {
				p.Sleep(time.Duration(m.Rand().IntN(5e6)))
				s.Shutdown()
			})
		}
		m.After(func() {
			if begun != ended {
				m.Errorf("%d tasks began and %d ended", begun, ended)
			}
		})
	})
}
