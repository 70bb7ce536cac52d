//go:build linux

package netconn_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender/task"
)

// The addresses are never nil, also if they are first asked for after a reset or Close; errors have those that are
// known.
func TestAddressesAfterReset(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		peer, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
			_, err := c.Read(make([]byte, 1))
			if oe, ok := errors.AsType[*net.OpError](err); !errors.Is(err, unix.ECONNRESET) || !ok || oe.Net != "tcp" ||
				oe.Source == nil {
				t.Errorf("Read: %v", err)
			}
			if a := c.RemoteAddr(); a == nil || a.Network() != "tcp" {
				t.Errorf("RemoteAddr: %v", a)
			}
			return nil
		})
		_ = peer.(*net.TCPConn).SetLinger(0)
		peer.Close()
		wait()
	})
}

func TestAddressesAfterClose(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		peer, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
			_ = c.Close()
			if c.RemoteAddr() == nil || c.LocalAddr() == nil {
				t.Errorf("%v, %v", c.LocalAddr(), c.RemoteAddr())
			}
			return nil
		})
		wait()
		peer.Close()
	})
}

// The error of Dial is as that of net.
func TestDialError(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		_, err := netconn.Dial(context.Background(), l.Loop, "tcp", "127.0.0.1:1")
		_, want := net.Dial("tcp", "127.0.0.1:1")
		if err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%v instead of %v", err, want)
		}
	})
}
