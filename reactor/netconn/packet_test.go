//go:build linux

package netconn_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender/task"
)

// ask sends datagrams from package net, and expects them back.
func ask(t *testing.T, to net.Addr) {
	t.Helper()
	c, err := net.Dial("udp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	for _, word := range []string{"one", "", "three"} {
		b := make([]byte, 10)
		if _, err = c.Write([]byte(word)); err == nil {
			var n int
			n, err = c.Read(b)
			b = b[:n]
		}
		if err != nil || string(b) != word {
			t.Errorf("%q came back as %q: %v", word, b, err)
		}
	}
}

func TestPacketTask(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		conns := make(chan *netconn.PacketConn, 1)
		wait := l.spawn(func(tk *task.T) error {
			s := new(reactor.Socket)
			a, _ := reactor.IPAddress(loopback)
			if err := errors.Join(s.Open(l.Loop, unix.AF_INET, unix.SOCK_DGRAM, 0), s.Bind(a)); err != nil {
				return err
			}
			c := netconn.NewPacket(tk, s)
			buf := make([]byte, 100)
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, _, err := c.ReadFrom(buf); !isTimeout(err) {
				t.Errorf("behind the deadline: %v", err)
			}
			_ = c.SetReadDeadline(time.Time{})
			conns <- c
			for i := 0; ; i++ {
				n, from, err := c.ReadFromAddress(buf)
				if err == nil && i%2 == 0 {
					_, err = c.WriteTo(buf[:n], from.NetAddr(unix.SOCK_DGRAM))
				} else if err == nil {
					_, err = c.WriteToAddrPort(buf[:n], from.AddrPort())
				}
				if err != nil {
					if !errors.Is(err, net.ErrClosed) {
						return err
					}
					return nil
				}
			}
		})
		c := <-conns
		ask(t, c.LocalAddr())
		c.Close()
		wait()
	})
}

func TestPacketStream(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		c, err := netconn.ListenPacket(reactor.ListenConfig{Addr: loopback}, l.Loop)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, _, err := c.ReadFrom(nil); !isTimeout(err) {
			t.Errorf("behind the deadline: %v", err)
		}
		_ = c.SetReadDeadline(time.Time{})
		ended := make(chan error, 1)
		go func() {
			for buf := make([]byte, 100); ; {
				n, from, err := c.ReadFrom(buf)
				if err == nil {
					_, err = c.WriteTo(buf[:n], from)
				}
				if err != nil {
					ended <- err
					return
				}
			}
		}()
		ask(t, c.LocalAddr())
		c.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}
