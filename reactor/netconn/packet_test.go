//go:build linux

package netconn_test

import (
	"errors"
	"net"
	"os"
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

// WriteTo to a unix socket without room tries once in a millisecond, until its deadline.
func TestWriteToFullUnixSocket(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		receiver, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: socketPath(t)})
		must(t, err)
		defer receiver.Close()
		anywhere, err := reactor.UnixAddress("")
		must(t, err)
		c, err := netconn.ListenPacket(reactor.ListenConfig{Address: anywhere}, l.Loop)
		must(t, err)
		defer c.Close()
		must(t, c.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
		began, before, sent := time.Now(), l.Stats().Completions, 0
		for err == nil {
			if _, err = c.WriteTo([]byte("x"), receiver.LocalAddr()); err == nil {
				sent++
			}
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		if n, most := l.Stats().Completions-before, uint64(sent+10+int(time.Since(began)/time.Millisecond)); n > most {
			t.Errorf("%d completions while there was no room, want %d at most", n, most)
		}
		must(t, c.SetWriteDeadline(time.Time{}))
		received := make(chan error, 1)
		go func() {
			buf := make([]byte, 10)
			n, err := 0, error(nil)
			for string(buf[:n]) != "last" && err == nil {
				n, _, err = receiver.ReadFrom(buf)
			}
			received <- err
		}()
		_, werr := c.WriteTo([]byte("last"), receiver.LocalAddr())
		if rerr := <-received; werr != nil || rerr != nil {
			t.Errorf("the last one: %v, %v", werr, rerr)
		}
	})
}
