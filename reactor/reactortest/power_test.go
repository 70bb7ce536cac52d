package reactortest_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// A machine that loses its power tells nobody: what is sent to it is sent again and again. When it has power again, it
// knows no connection of before.
func TestPowerOff(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.SetFaults(reactortest.Faults{})
		server := m.NewMachine("server")
		server.WriteFile("/kept", []byte("bytes"))
		at := server.AddrPort(7)
		server.Loop(reactor.LoopConfig{}, echoAt(at))
		server.Peer("bystander", func(p *reactortest.Peer) { p.Sleep(time.Hour) })
		m.Peer("client", func(p *reactortest.Peer) {
			c := p.Dial(at)
			say := func(c *reactortest.Conn, text string) error {
				if _, err := io.WriteString(c, text); err != nil {
					return err
				}
				_, err := io.ReadFull(c, make([]byte, len(text)))
				return err
			}
			if err := say(c, "before"); err != nil {
				p.Errorf("before: %v", err)
			}
			server.PowerOff()
			_ = c.SetReadDeadline(p.Time().Add(10 * time.Second))
			if err := say(c, "while it is off"); err == nil || errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
				p.Errorf("while it is off: %v", err)
			}
			if _, err := p.TryDial(at); !errors.Is(err, unix.ETIMEDOUT) {
				p.Errorf("a connect while it is off: %v", err)
			}
			server.PowerOn()
			_ = c.SetReadDeadline(p.Time().Add(5 * time.Minute))
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, unix.ECONNRESET) {
				p.Errorf("when it is on again: %v", err)
			}
			if _, err := p.TryDial(at); !errors.Is(err, unix.ECONNREFUSED) {
				p.Errorf("a connect before anything listens: %v", err)
			}
			server.Loop(reactor.LoopConfig{}, echoAt(at))
			if err := say(p.Dial(at), "again"); err != nil {
				p.Errorf("again: %v", err)
			}
			if b, err := server.ReadFile("/kept"); string(b) != "bytes" {
				p.Errorf("its file has %q, %v", b, err)
			}
		})
	})
}

// Power may be lost at any moment, whatever is under way and whatever faults there are: bytes that wait for room, files
// that are written, unix sockets. Nothing of the machine is missed in the end, nothing changes on its disk while it is
// off, and what is made afterwards works.
func TestPowerOffAtAnyTime(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		server := m.NewMachine("server")
		at := server.AddrPort(7)
		serving := func(l *reactor.Loop) error {
			l.Spawn(task.New(func(t *task.T) error {
				for i := range 500 {
					if err := create(t, l, fmt.Sprintf("/written/%d", i)); errors.Is(err, sender.ErrStopped) {
						return err
					}
				}
				return nil
			}))
			return echoAt(at)(l)
		}
		server.MkdirAll("/written")
		server.MkdirAll("/run")
		server.Loop(reactor.LoopConfig{}, serving)
		server.Peer("stuck", func(p *reactortest.Peer) { // it never reads what comes
			unix := p.ListenUnix("/run/server.sock")
			l := p.Listen(server.AddrPort(9))
			_, _ = l.Accept()
			_, _ = unix.Accept()
			p.Sleep(time.Hour)
		})
		off := false
		m.Peer("sender", func(p *reactortest.Peer) {
			c, err := p.TryDial(server.AddrPort(9))
			for ; err != nil && !off; c, err = p.TryDial(server.AddrPort(9)) {
				p.Sleep(100 * time.Microsecond)
			}
			for err == nil { // until the window is full, and the power is lost
				_, err = c.Write(make([]byte, 10_000))
			}
			if !off {
				p.Errorf("it has failed before the power is lost")
			}
		})
		m.Peer("power", func(p *reactortest.Peer) {
			p.Sleep(time.Duration(m.Rand().Int64N(int64(20 * time.Millisecond))))
			off = true
			server.PowerOff()
			before, _ := server.ReadDir("/written")
			p.Sleep(time.Duration(m.Rand().Int64N(int64(10 * time.Second))))
			if after, _ := server.ReadDir("/written"); len(after) != len(before) {
				p.Errorf("%d files are there, and %d when the power was lost", len(after), len(before))
			}
			server.PowerOn()
			server.Loop(reactor.LoopConfig{}, serving)
			server.Peer("again", func(p *reactortest.Peer) {
				if _, err := p.TryDialUnix("/run/server.sock"); err == nil {
					p.Errorf("somebody listens on a socket of before")
				}
				p.Dial(at)
			})
		})
	})
}

// create makes a file with some bytes.
func create(t *task.T, l *reactor.Loop, name string) error {
	f := new(reactor.File)
	if err := open(t, l, f, name, os.O_WRONLY|os.O_CREATE); err != nil {
		return err
	}
	defer task.Unstoppable(t, func() { _, _ = task.Await(t, f.Close()) })
	_, err := task.Await(t, f.WriteAt(make([]byte, 5000), 0))
	return err
}

// A listener's queue holds as many connections as the machine allows: others are asked to wait by silence.
func TestBacklog(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.SetFaults(reactortest.Faults{})
		m.SetLimits(reactortest.Limits{Backlog: 2})
		at := m.AddrPort(7)
		accept := false
		m.Loop(reactor.LoopConfig{}, func(l *reactor.Loop) error {
			listener := new(reactor.Socket)
			if err := listener.OpenListener(l, reactor.ListenConfig{Addr: at}); err != nil {
				return err
			}
			l.Spawn(task.New(func(t *task.T) error {
				for !accept {
					if _, err := task.Await(t, l.SleepFor(time.Second)); err != nil {
						closeSocket(t, listener)
						return err
					}
				}
				return acceptEach(t, l, listener, func(t *task.T, c *reactor.Socket) error { return serve(t, l, c, time.Hour) })
			}))
			return nil
		})
		connected := 0
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			m.Peer(name, func(p *reactortest.Peer) {
				p.Sleep(time.Second)
				if _, err := p.TryDial(at); err != nil {
					p.Errorf("%v", err)
				}
				connected++
				p.Until(func() bool { return connected == 5 })
			})
		}
		m.Peer("judge", func(p *reactortest.Peer) {
			p.Sleep(20 * time.Second)
			if connected != 3 { // a queue has room for one more, as listen(2) of Linux
				p.Errorf("%d connections are made while nobody accepts", connected)
			}
			accept = true
		})
	})
}

// A machine without power runs nothing, and does not lose it by itself.
func TestPowerMisuse(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		other := m.NewMachine("other")
		m.Peer("client", func(p *reactortest.Peer) {
			says := func(want string, f func()) {
				defer func() {
					if got, _ := recover().(string); !strings.Contains(got, want) {
						p.Errorf("panic %q, want %q", got, want)
					}
				}()
				f()
			}
			says("call it in a peer of another machine", m.PowerOff)
			other.PowerOff()
			says("call PowerOn before", func() { other.Peer("late", func(*reactortest.Peer) {}) })
			says("call PowerOn before", func() { other.Loop(reactor.LoopConfig{}, nil) })
		})
	})
}
