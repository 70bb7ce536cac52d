//go:build linux

package netconn_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/net/nettest"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
)

var loopback = netip.MustParseAddrPort("127.0.0.1:0")

// accepted makes a connection, and returns the Stream of the server and the client's end.
func accepted(t testing.TB, ln net.Listener, dial func(address string) (net.Conn, error)) (a, b net.Conn) {
	t.Helper()
	b, err := dial(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a, err = ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}

func dialNet(address string) (net.Conn, error) { return net.Dial("tcp", address) }

func listen(t testing.TB, l *running) net.Listener {
	t.Helper()
	ln, err := netconn.Listen(reactor.ListenConfig{Addr: loopback}, l.Loop)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func TestNettestStream(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		ln := listen(t, l)
		defer ln.Close()
		dialStream := func(address string) (net.Conn, error) {
			return netconn.Dial(context.Background(), l.Loop, "tcp", address)
		}
		t.Run("stream to net", func(t *testing.T) {
			nettest.TestConn(t, func() (a, b net.Conn, stop func(), err error) {
				a, b = accepted(t, ln, dialNet)
				return a, b, func() { a.Close(); b.Close() }, nil
			})
		})
		t.Run("stream to stream", func(t *testing.T) {
			nettest.TestConn(t, func() (a, b net.Conn, stop func(), err error) {
				a, b = accepted(t, ln, dialStream)
				return a, b, func() { a.Close(); b.Close() }, nil
			})
		})
		t.Run("task to stream", func(t *testing.T) {
			nettest.TestConn(t, func() (a, b net.Conn, stop func(), err error) {
				a, c := accepted(t, ln, dialNet)
				b = l.drive(detach(t, c))
				return a, b, func() { a.Close(); b.Close() }, nil
			})
		})
	})
}

// When one of several loops ends, the others go on to accept; when all have ended, Accept returns net.ErrClosed.
func TestListenerOutlivesALoop(t *testing.T) {
	onRings(t, func(t *testing.T, first *running) {
		second := newLoop(t, first.RingChoice().Kind)
		ln, err := netconn.Listen(reactor.ListenConfig{Addr: loopback}, first.Loop, second.Loop)
		must(t, err)
		defer ln.Close()
		second.end()
		for range 8 {
			a, b := accepted(t, ln, dialNet)
			if _, err := b.Write([]byte("x")); err != nil {
				t.Error(err)
			}
			if n, err := a.Read(make([]byte, 1)); n != 1 {
				t.Errorf("a connection behind the end of a loop: %v", err)
			}
			a.Close()
			b.Close()
		}
		first.Stop()
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept without a loop: %v", err)
		}
	})
}
