package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// Clients and the server run on one loop, on either ring. The loop is stopped while a client is connected.
func TestEcho(t *testing.T) {
	for _, kind := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		t.Run(string(kind), func(t *testing.T) {
			defer goleak.VerifyNone(t)
			l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
			testenv.NeedIOUring(t, err)
			served, pinged := make(chan error, 1), make(chan error, 1)
			if err := l.Run(func() { l.Spawn(scenario(l, served, pinged)) }); err != nil {
				t.Error(err)
			}
			if err := <-pinged; err != nil {
				t.Errorf("client: %v", err)
			}
			if err := <-served; err != sender.ErrStopped {
				t.Errorf("the server ended with %v", err)
			}
			if st := l.Stats(); st.InFlight != 0 || st.Leaked != 0 {
				t.Errorf("left over: %+v", st)
			}
		})
	}
}

// scenario serves, runs clients with messages of several sizes one after the other, and stops the loop while one more
// is connected.
func scenario(l *reactor.Loop, served, pinged chan<- error) task.Sender {
	return task.New(func(t *task.T) error {
		defer l.Stop()
		var s reactor.Socket
		if err := s.OpenListener(l, reactor.ListenConfig{Addr: netip.MustParseAddrPort("127.0.0.1:0")}); err != nil {
			pinged <- err
			served <- err
			return err
		}
		addr, err := s.LocalAddr()
		if err == nil {
			l.Spawn(task.New(func(t *task.T) error { served <- serve(t, &s); return nil }))
		}
		for _, size := range []int{1, 1000, 100_000} {
			if err == nil {
				_, err = task.Await(t, client(l, addr.String(), bytes.Repeat([]byte("x"), size), 20))
			}
		}
		l.Spawn(idle(l, addr))
		if err == nil {
			_, err = task.Await(t, client(l, addr.String(), []byte("once more"), 1))
		}
		pinged <- err
		return nil
	})
}

// idle connects and waits for bytes that never arrive.
func idle(l *reactor.Loop, addr netip.AddrPort) task.Sender {
	return task.New(func(t *task.T) error {
		c := new(reactor.Socket)
		if err := c.Open(l, 2, 1, 0); err != nil {
			return err
		}
		defer task.Unstoppable(t, func() { _, _ = task.Await(t, c.Close()) })
		if _, err := task.Await(t, c.Dial(addr)); err != nil {
			return err
		}
		return recvFull(t, c, make([]byte, 1))
	})
}

// A connection that is accepted while the loop drains is closed, although no task begins for it.
func TestAcceptedDuringDrain(t *testing.T) {
	for _, kind := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		t.Run(string(kind), func(t *testing.T) {
			l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
			testenv.NeedIOUring(t, err)
			var (
				s      reactor.Socket
				client net.Conn
				served error
			)
			err = l.Run(func() {
				if err := s.OpenListener(l, reactor.ListenConfig{Addr: netip.MustParseAddrPort("127.0.0.1:0")}); err != nil {
					t.Error(err)
					l.Stop()
					return
				}
				addr, _ := s.LocalAddr()
				if client, err = net.Dial("tcp", addr.String()); err != nil {
					t.Error(err)
				}
				l.Spawn(task.New(func(t *task.T) error {
					served = serve(t, &s)
					return nil
				}))
				l.Stop() // after the task waits in accept for the connection that is there
			})
			if err != nil || served != sender.ErrStopped {
				t.Fatalf("%v; the server ended with %v", err, served)
			}
			defer client.Close()
			if err := client.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			// EOF, or a reset if the connection was still in the backlog when the listener was closed.
			if n, err := client.Read(make([]byte, 1)); err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the client reads %d bytes, %v, of a connection without a task", n, err)
			}
		})
	}
}
