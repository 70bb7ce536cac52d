package reactortest_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// spawn makes a loop that runs a task.
func spawn(m *reactortest.Machine, f func(t *task.T, l *reactor.Loop) error) *reactor.Loop {
	return m.Loop(reactor.LoopConfig{}, func(l *reactor.Loop) error {
		l.Spawn(task.New(func(t *task.T) error { return f(t, l) }))
		return nil
	})
}

// A program without a peer ends when its loops end.
func TestWithoutPeers(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		slept := false
		spawn(m, func(t *task.T, l *reactor.Loop) error {
			if _, err := task.Await(t, l.SleepFor(time.Hour)); err != nil {
				return err
			}
			slept = true
			l.Stop()
			return nil
		})
		m.After(func() {
			if !slept || m.Now() < time.Hour {
				m.Errorf("it slept: %v, until %v", slept, m.Now())
			}
		})
	})
}

// Files are there before a run, and can be read after it. The disk can be full.
func TestFiles(t *testing.T) {
	failed := 0
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.WriteFile("/data/in", []byte("some bytes"))
		done := false
		spawn(m, func(t *task.T, l *reactor.Loop) error {
			defer l.Stop()
			err := copyFile(t, l, "/data/in", "/data/out")
			done = err == nil
			return nil
		})
		m.After(func() {
			if !done {
				failed++
				return
			}
			got, err := m.ReadFile("/data/out")
			names, _ := m.ReadDir("/data")
			if err != nil || string(got) != "some bytes" || !slices.Equal(names, []string{"in", "out"}) {
				m.Errorf("%q, %v, %q", got, err, names)
			}
			if err := m.Remove("/data/out"); err != nil {
				m.Errorf("%v", err)
			}
		})
	})
	if failed == 0 {
		t.Error("no disk had a fault")
	}
}

func copyFile(t *task.T, l *reactor.Loop, from, to string) error {
	in, out := new(reactor.File), new(reactor.File)
	if err := open(t, l, in, from, os.O_RDONLY); err != nil {
		return err
	}
	defer task.Unstoppable(t, func() { _, _ = task.Await(t, in.Close()) })
	if err := open(t, l, out, to, os.O_WRONLY|os.O_CREATE); err != nil {
		return err
	}
	defer task.Unstoppable(t, func() { _, _ = task.Await(t, out.Close()) })
	buf := make([]byte, 4)
	for at := int64(0); ; {
		n, err := task.Await(t, in.ReadAt(buf, at))
		if err != nil || n == 0 {
			return err
		}
		if n, err = task.Await(t, out.WriteAt(buf[:n], at)); err != nil {
			return err
		}
		at += int64(n)
	}
}

func open(t *task.T, l *reactor.Loop, f *reactor.File, name string, flags int) error {
	_, err := task.Await(t, l.Cwd().OpenFile(f, name, flags, 0o644))
	return err
}

// A peer restarts a server: clients are served before and after.
func TestRestart(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.Peer("operator", func(p *reactortest.Peer) {
			for range 3 {
				l := m.Loop(reactor.LoopConfig{}, echo(time.Hour))
				converse(p, p.Dial(address))
				l.Stop()
				p.UntilEnded(l)
				if _, err := p.TryDial(address); !errors.Is(err, syscall.ECONNREFUSED) {
					p.Errorf("a server that has ended is dialled: %v", err)
				}
			}
		})
	})
}

// A loop that is made when the last peer has ended is stopped as well.
func TestALateLoop(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		late := false
		spawn(m, func(t *task.T, l *reactor.Loop) error {
			_, err := task.Await(t, l.SleepFor(time.Hour))
			if errors.Is(err, sender.ErrStopped) {
				m.Loop(reactor.LoopConfig{}, func(*reactor.Loop) error {
					late = true
					return nil
				})
			}
			return err
		})
		m.Peer("client", func(p *reactortest.Peer) { p.Sleep(time.Second) })
		m.After(func() {
			if !late {
				m.Errorf("the late loop has not run its setup")
			}
		})
	})
}

// A run ends with its threads: what would happen later does not.
func TestTheEnd(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.StartProcess(365*24*time.Hour, 0)
		m.Peer("client", func(p *reactortest.Peer) { p.Sleep(time.Second) })
		m.After(func() {
			if m.Now() > time.Minute {
				m.Errorf("it ended after %v", m.Now())
			}
		})
	})
}

// Runs of tests in parallel have nothing in common.
func TestParallel(t *testing.T) {
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reactortest.Run(t, func(m *reactortest.Machine) {
				m.Loop(reactor.LoopConfig{}, echo(time.Hour))
				m.Peer("client", func(p *reactortest.Peer) { converse(p, p.Dial(address)) })
			})
		})
	}
}

// Children and signals.
func TestProcesses(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.SetFaults(reactortest.Faults{})
		spawn(m, func(t *task.T, l *reactor.Loop) error {
			one, two := m.StartProcess(time.Second, 3), m.StartProcess(time.Hour, 0)
			status, err := task.Await(t, l.WaitProcess(one))
			if err != nil || status.ExitStatus() != 3 {
				m.Errorf("a child ended with %v, %v", status, err)
			}
			if err := m.Kill(two, syscall.SIGTERM); err != nil {
				m.Errorf("%v", err)
			}
			status, err = task.Await(t, l.WaitProcess(two))
			if err != nil || status.Signal() != syscall.SIGTERM || m.Now() > time.Minute {
				m.Errorf("a child ended with %v, %v, after %v", status, err, m.Now())
			}
			return nil
		})
		got := []os.Signal{}
		signals := &signals{got: &got}
		m.Loop(reactor.LoopConfig{}, func(l *reactor.Loop) error {
			l.Signals(1, syscall.SIGHUP).Connect(&signals.op, signals)
			signals.op.Start()
			return nil
		})
		m.Peer("sender", func(p *reactortest.Peer) {
			p.Sleep(10 * time.Second)
			m.Signal(syscall.SIGHUP)
			if !p.UntilOr(func() bool { return len(got) != 0 }, time.Hour) {
				p.Errorf("no signal came")
			}
		})
	})
}

type signals struct {
	sender.EmptyEnv
	op  reactor.SignalsOp
	got *[]os.Signal
}

func (s *signals) SetNext(sig os.Signal) { *s.got = append(*s.got, sig) }
func (s *signals) SetValue(struct{})     {}
func (s *signals) SetError(error)        {}
func (s *signals) SetStopped()           {}
func (s *signals) Env() sender.Env       { return s }

// A server that has no descriptors left does not accept until there are some. Those of peers do not count.
func TestDescriptorLimit(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.SetFaults(reactortest.Faults{})
		m.SetLimits(reactortest.Limits{Descriptors: 3})
		m.Loop(reactor.LoopConfig{}, echo(time.Hour))
		m.Peer("client", func(p *reactortest.Peer) {
			var conns []*reactortest.Conn
			for range 5 {
				c := p.Dial(address)
				_, _ = io.WriteString(c, "x")
				conns = append(conns, c)
			}
			served := func(c *reactortest.Conn) bool {
				_ = c.SetReadDeadline(p.Time().Add(time.Minute))
				_, err := c.Read(make([]byte, 1))
				return err == nil
			}
			n := 0
			for _, c := range conns {
				if served(c) {
					n++
					_ = c.Close()
					p.Sleep(time.Second)
				}
			}
			if n != 5 {
				p.Errorf("%d were served", n)
			}
		})
	})
}

// Two peers share a connection, and closing it ends what the other waits in. Net's interfaces work.
func TestConns(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		var shared *reactortest.Conn
		ended := false
		m.Peer("server", func(p *reactortest.Peer) {
			var ln net.Listener = p.Listen(address)
			c, err := ln.Accept()
			if err != nil || ln.Addr().String() != address.String() {
				p.Fatalf("%v at %v", err, ln.Addr())
			}
			r, err := http.ReadRequest(bufio.NewReader(c))
			if err != nil || r.URL.Path != "/path" {
				p.Fatalf("%v, %v", r, err)
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			p.Until(func() bool { return ended })
		})
		m.Peer("client", func(p *reactortest.Peer) {
			c := p.Dial(address)
			r, _ := http.NewRequest("GET", "http://host/path", nil)
			_ = r.Write(c)
			reply, err := http.ReadResponse(bufio.NewReader(c), r)
			if err != nil {
				p.Fatalf("%v", err)
			}
			if body, err := io.ReadAll(reply.Body); err != nil || string(body) != "ok" {
				p.Errorf("%q, %v", body, err)
			}
			shared = c
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
				p.Errorf("a read of what is closed ends with %v", err)
			}
			if err := c.Close(); !errors.Is(err, net.ErrClosed) {
				p.Errorf("a second Close: %v", err)
			}
			ended = true
		})
		m.Peer("closer", func(p *reactortest.Peer) {
			p.Until(func() bool { return shared != nil })
			p.Sleep(time.Second)
			_ = shared.Close()
		})
	})
}

// A reset is not an end, for a server.
func TestReset(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.Peer("server", func(p *reactortest.Peer) {
			c, _ := p.Listen(address).AcceptConn()
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				p.Errorf("the end is %v", err)
			}
		})
		m.Peer("client", func(p *reactortest.Peer) { p.Dial(address).Reset() })
	})
}

// Datagrams between peers: named and unconnected.
func TestPackets(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.SetFaults(reactortest.Faults{})
		m.Peer("server", func(p *reactortest.Peer) {
			c := p.ListenPacket(address)
			b := make([]byte, 10)
			n, from, err := c.ReadFrom(b)
			if err != nil {
				p.Fatalf("%v", err)
			}
			_, _ = c.WriteTo(b[:n], from)
		})
		m.Peer("client", func(p *reactortest.Peer) {
			c := p.ListenPacket(netip.MustParseAddrPort("127.0.0.1:0"))
			p.Sleep(time.Second)
			_, _ = c.WriteToAddrPort([]byte("ping"), address)
			b := make([]byte, 10)
			if n, from, err := c.ReadFromAddrPort(b); string(b[:n]) != "ping" || from != address || err != nil {
				p.Errorf("%q, %v, %v", b[:n], from, err)
			}
		})
	})
}
