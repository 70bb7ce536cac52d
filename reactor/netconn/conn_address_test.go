//go:build linux

package netconn_test

import (
	"context"
	"errors"
	"fmt"
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
	address := refusing(t)
	onRings(t, func(t *testing.T, l *running) {
		_, err := netconn.Dial(context.Background(), l.Loop, "tcp", address)
		_, want := net.Dial("tcp", address)
		if err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%v instead of %v", err, want)
		}
	})
}

// refusing returns an address of a bound socket that does not listen: it refuses connections until the test ends.
func refusing(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", bound.(*unix.SockaddrInet4).Port)
}
