//go:build linux

package netconn_test

import (
	"context"
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
