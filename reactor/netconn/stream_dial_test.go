//go:build linux

package netconn_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender"
)

// fullListener is the address of a listener whose backlog is full, so that a connect waits.
func fullListener(t *testing.T) netip.AddrPort {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	at := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := errors.Join(unix.Bind(fd, at), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(sa.(*unix.SockaddrInet4).Port))
	c, err := net.Dial("tcp", address.String()) // the kernel takes one more than the backlog
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return address
}

// What Dial returns when its context is done is what net.Dialer.DialContext returns then, text and all.
func TestDialContextErrors(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		address := fullListener(t).String()
		mine := errors.New("mine")
		for name, begin := range map[string]func() (context.Context, context.CancelFunc){
			"deadline": func() (context.Context, context.CancelFunc) {
				return context.WithTimeout(context.Background(), 10*time.Millisecond)
			},
			"canceled": func() (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancelCause(context.Background())
				time.AfterFunc(10*time.Millisecond, func() { cancel(mine) })
				return ctx, func() { cancel(nil) }
			},
		} {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := begin()
				defer cancel()
				_, want := new(net.Dialer).DialContext(ctx, "tcp", address)
				ctx, cancel = begin()
				defer cancel()
				_, err := netconn.Dial(ctx, l.Loop, "tcp", address)
				var ne, wantNE net.Error
				if err == nil || !errors.As(err, &ne) || !errors.As(want, &wantNE) || err.Error() != want.Error() ||
					ne.Timeout() != wantNE.Timeout() {
					t.Errorf("%v instead of %v", err, want)
				}
				deadline := name == "deadline"
				if errors.Is(err, context.DeadlineExceeded) != deadline || errors.Is(err, os.ErrDeadlineExceeded) != deadline ||
					errors.Is(err, context.Canceled) == deadline || errors.Is(err, mine) == deadline {
					t.Errorf("%v does not match what it should", err)
				}
			})
		}
		_, err := (&netconn.Dialer{Timeout: 10 * time.Millisecond}).Dial(context.Background(), l.Loop, "tcp", address)
		if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() || !strings.Contains(err.Error(), address) {
			t.Errorf("Timeout: %v", err)
		}
	})
}

// Dial returns when its context is done although the loop has not begun to run, or is in a callback; and what it has
// begun leaves nothing behind.
func TestDialWhileTheLoopStands(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dial := func(l *reactor.Loop) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		_, err := netconn.Dial(ctx, l, "tcp", ln.Addr().String())
		if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() {
			t.Errorf("%v, want a timeout", err)
		}
	}
	idle, err := reactor.NewLoop(reactor.LoopConfig{})
	if err != nil {
		t.Fatal(err)
	}
	dial(idle)
	if err := idle.Discard(); err != nil {
		t.Error(err)
	}
	onRings(t, func(t *testing.T, l *running) {
		proceed, stands := make(chan struct{}), make(chan struct{})
		sender.Execute(l.Loop, func() { close(stands); <-proceed })
		<-stands
		dial(l.Loop)
		close(proceed)
		c, err := netconn.Dial(context.Background(), l.Loop, "tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	})
}

// keepAliveOf is what the kernel has for a connection.
func keepAliveOf(t *testing.T, c net.Conn) (s string) {
	t.Helper()
	raw, err := c.(syscall.Conn).SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			for _, o := range [][2]int{{unix.SOL_SOCKET, unix.SO_KEEPALIVE}, {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE},
				{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}, {unix.IPPROTO_TCP, unix.TCP_KEEPCNT}} {
				v, _ := unix.GetsockoptInt(int(fd), o[0], o[1])
				s += fmt.Sprint(v, " ")
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Connections have keep-alive as in package net, dialled and accepted, and the settings change that.
func TestKeepAlive(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		netListener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer netListener.Close()
		check := func(ln net.Listener, dial func(network, address string) (net.Conn, error), dialled, accepted string) {
			t.Helper()
			c, err := dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			a, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if got := keepAliveOf(t, c); dialled != "" && !strings.HasPrefix(got, dialled) {
				t.Errorf("dialled: %q, want %q", got, dialled)
			}
			if got := keepAliveOf(t, a); accepted != "" && !strings.HasPrefix(got, accepted) {
				t.Errorf("accepted: %q, want %q", got, accepted)
			}
		}
		by := func(d *netconn.Dialer) func(network, address string) (net.Conn, error) {
			return func(network, address string) (net.Conn, error) {
				return d.Dial(context.Background(), l.Loop, network, address)
			}
		}
		listen := func(options func(s *reactor.Socket) error) net.Listener {
			cfg := reactor.ListenConfig{Addr: netip.MustParseAddrPort("127.0.0.1:0"), Options: options}
			ln, err := netconn.Listen(cfg, l.Loop)
			if err != nil {
				t.Fatal(err)
			}
			return ln
		}
		check(netListener, net.Dial, "1 15 15 9 ", "1 15 15 9 ")
		check(netListener, by(&netconn.Dialer{}), "1 15 15 9 ", "")
		check(netListener, by(&netconn.Dialer{KeepAlive: time.Minute}), "1 60 15 9 ", "")
		check(netListener, by(&netconn.Dialer{KeepAlive: -1}), "0 ", "")
		ln := listen(nil)
		check(ln, net.Dial, "", "1 15 15 9 ")
		ln.Close()
		ln = listen(func(s *reactor.Socket) error { return s.SetKeepAlive(time.Minute, time.Second, 3) })
		check(ln, net.Dial, "", "1 60 1 3 ")
		ln.Close()
		ln = listen(func(s *reactor.Socket) error { return s.SetKeepAlive(0, 0, 0) })
		check(ln, net.Dial, "", "0 ")
		ln.Close()
	})
}

// The other settings of a Dialer are used.
func TestDialer(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		local, err := reactor.IPAddress(netip.MustParseAddrPort("127.0.0.77:0"))
		if err != nil {
			t.Fatal(err)
		}
		called := false
		d := &netconn.Dialer{Local: local, Resolver: one("127.0.0.1"),
			Options: func(*reactor.Socket) error { called = true; return nil }}
		_, port, _ := net.SplitHostPort(ln.Addr().String())
		c, err := d.Dial(context.Background(), l.Loop, "tcp4", "somewhere.example:"+port)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if !called || !strings.HasPrefix(c.LocalAddr().String(), "127.0.0.77:") {
			t.Errorf("options %v, local %v", called, c.LocalAddr())
		}
	})
}

// one is a resolver with one answer.
type one string

func (o one) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr(string(o))}, nil
}
