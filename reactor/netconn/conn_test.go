//go:build linux

package netconn_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/net/nettest"

	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

func TestNettestTask(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		t.Run("task to net", func(t *testing.T) {
			nettest.TestConn(t, func() (a, b net.Conn, stop func(), err error) {
				x, y := tcpPair(t)
				a, b = l.drive(x), attach(t, y)
				return a, b, func() { a.Close(); b.Close() }, nil
			})
		})
		t.Run("task to task", func(t *testing.T) {
			nettest.TestConn(t, func() (a, b net.Conn, stop func(), err error) {
				x, y := tcpPair(t)
				a, b = l.drive(x), l.drive(y)
				return a, b, func() { a.Close(); b.Close() }, nil
			})
		})
	})
}

func TestEcho(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		for _, way := range []string{"copy", "read"} {
			peer, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
				var err error
				if way == "copy" {
					_, err = io.Copy(c, c)
				} else {
					_, err = c.ReadFrom(struct{ io.Reader }{c})
				}
				return err
			})
			sent := make([]byte, 3<<20)
			_, _ = rand.Read(sent)
			go func() {
				_, _ = peer.Write(sent)
				_ = peer.(*net.TCPConn).CloseWrite()
			}()
			if got, err := io.ReadAll(peer); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%s: %d bytes came back of %d: %v", way, len(got), len(sent), err)
			}
			peer.Close()
			wait()
		}
	})
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout() && errors.Is(err, os.ErrDeadlineExceeded)
}

func TestDeadlines(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		peer, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
			buf := make([]byte, 1)
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			for range 2 {
				if _, err := c.Read(buf); !isTimeout(err) {
					t.Errorf("a Read behind its deadline: %v", err)
				}
			}
			_ = c.SetDeadline(time.Time{})
			c.SetIdle(20 * time.Millisecond)
			began := time.Now()
			if _, err := c.Read(buf); !isTimeout(err) || time.Since(began) < 20*time.Millisecond {
				t.Errorf("an idle Read: %v after %v", err, time.Since(began))
			}
			big := make([]byte, 64<<20)
			if n, err := c.Write(big); !isTimeout(err) || n == 0 || n == len(big) {
				t.Errorf("a Write to a peer that does not read: %d, %v", n, err)
			}
			c.SetIdle(0)
			go func() { // another goroutine may move a deadline
				time.Sleep(10 * time.Millisecond)
				_ = c.SetDeadline(time.Unix(1, 0))
			}()
			if _, err := c.Read(buf); !isTimeout(err) {
				t.Errorf("a Read whose deadline another goroutine sets: %v", err)
			}
			return nil
		})
		wait()
		peer.Close()
	})
}

func TestCloseElsewhere(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		for _, what := range []string{"read", "lease", "write"} {
			conns := make(chan *netconn.Conn, 1)
			peer, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
				conns <- c
				var err error
				switch what {
				case "read":
					_, err = c.Read(make([]byte, 1))
				case "lease":
					_, err = io.Copy(io.Discard, c)
				default:
					_, err = c.Write(make([]byte, 64<<20))
				}
				if !errors.Is(err, net.ErrClosed) {
					t.Errorf("%s of a Conn that another goroutine closes: %v", what, err)
				}
				if err := c.Close(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("a second Close: %v", err)
				}
				return nil
			})
			c := <-conns
			time.Sleep(time.Millisecond)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			wait()
			peer.Close()
		}
	})
}

func TestDrainEndsReads(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		var drain stop.Source
		reading := make(chan struct{})
		peer, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
			c.SetDrain(drain.Token())
			close(reading)
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, sender.ErrStopped) {
				t.Errorf("a Read that is drained: %v", err)
			}
			_, err := c.Write([]byte("bye"))
			return err
		})
		<-reading
		drain.RequestStop()
		if b, err := io.ReadAll(peer); string(b) != "bye" || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
		wait()
		peer.Close()
	})
}

func TestWrongGoroutine(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		conns := make(chan *netconn.Conn, 1)
		peer, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
			conns <- c
			_, _ = c.Read(make([]byte, 1))
			return nil
		})
		c := <-conns
		for name, f := range map[string]func(){
			"Read":     func() { _, _ = c.Read(make([]byte, 1)) },
			"Write":    func() { _, _ = c.Write(make([]byte, 1)) },
			"WriteTo":  func() { _, _ = c.WriteTo(io.Discard) },
			"ReadFrom": func() { _, _ = c.ReadFrom(&bytes.Buffer{}) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s off the task does not panic", name)
					}
				}()
				f()
			}()
		}
		if a, b := c.RemoteAddr(), peer.LocalAddr(); a.String() != b.String() || a.Network() != "tcp" {
			t.Errorf("the remote address is %v, want %v", a, b)
		}
		peer.Close()
		wait()
	})
}
