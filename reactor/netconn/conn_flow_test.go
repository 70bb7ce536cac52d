//go:build linux

package netconn_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// Two tasks carry what two clients say to each other, each of which ends its direction first.
func TestFlowBetweenConns(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		x, left := tcpPair(t)
		y, right := tcpPair(t)
		wait := l.spawn(func(t *task.T) error {
			from, to := socketOf(l.Loop, x), socketOf(l.Loop, y)
			ended := false // the other direction, which uses the sockets
			back := l.spawn(func(t *task.T) error {
				a, b := netconn.New(t, from), netconn.New(t, to)
				_, err := io.Copy(a, b)
				_ = a.CloseWrite()
				ended = true
				return err
			})
			go back()
			a, b := netconn.New(t, from), netconn.New(t, to)
			defer a.Close()
			defer b.Close()
			n, err := io.Copy(b, a)
			_ = b.CloseWrite()
			if n != 3<<20 {
				l.t.Errorf("copied %d bytes", n)
			}
			for !ended {
				if _, stopped := task.Await(t, l.SleepFor(time.Millisecond)); stopped != nil {
					return stopped
				}
			}
			return err
		})
		p, q := attach(t, left), attach(t, right)
		sent := make([]byte, 3<<20)
		_, _ = rand.Read(sent)
		go func() {
			_, _ = p.Write(sent)
			_ = p.(*net.TCPConn).CloseWrite()
		}()
		got, err := io.ReadAll(q)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d bytes arrived: %v", len(got), err)
		}
		_, _ = q.Write([]byte("bye"))
		_ = q.(*net.TCPConn).CloseWrite()
		if b, err := io.ReadAll(p); string(b) != "bye" || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
		wait()
		p.Close()
		q.Close()
	})
}

// Each way in which an io.Copy ends. The peer has sent more than it reads, if it is stuck: a part of it beforehand, so
// that the Conn begins with a send that waits, whatever TCP does when it stalls both ways.
func TestFlowEnds(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		var drain stop.Source
		idle := func(d time.Duration) func(*netconn.Conn) { return func(c *netconn.Conn) { c.SetIdle(d) } }
		readBy := func(at time.Time) func(*netconn.Conn) { return func(c *netconn.Conn) { _ = c.SetReadDeadline(at) } }
		writeBy := func(at time.Time) func(*netconn.Conn) { return func(c *netconn.Conn) { _ = c.SetWriteDeadline(at) } }
		closes := func(c *netconn.Conn) { _ = c.Close() }
		past := time.Unix(1, 0)
		for name, c := range map[string]struct {
			stuck bool
			begin func(c *netconn.Conn) // in the task
			end   func(c *netconn.Conn) // on another goroutine
			is    func(error) bool
			op    string
		}{
			"read deadline": {begin: func(c *netconn.Conn) { _ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)) },
				is: isTimeout, op: "read"},
			"idle read":      {begin: idle(20 * time.Millisecond), is: isTimeout, op: "read"},
			"idle write":     {stuck: true, begin: idle(100 * time.Millisecond), is: isTimeout, op: "write"},
			"past deadline":  {begin: readBy(past), is: isTimeout, op: "read"},
			"deadline moves": {end: readBy(past), is: isTimeout, op: "read"},
			"write deadline": {stuck: true, end: writeBy(past), is: isTimeout, op: "write"},
			"close":          {end: closes, is: isClosed},
			"stuck close":    {stuck: true, end: closes, is: isClosed},
			"drain": {begin: func(c *netconn.Conn) { c.SetDrain(drain.Token()) },
				end: func(*netconn.Conn) { drain.RequestStop() }, is: isStopped},
		} {
			t.Run(name, func(t *testing.T) {
				conns := make(chan *netconn.Conn, 1)
				x, y := tcpPair(t)
				peer := attach(t, y)
				if c.stuck {
					_ = unix.SetsockoptInt(x, unix.SOL_SOCKET, unix.SO_SNDBUF, 4<<10)
					_ = peer.(*net.TCPConn).SetReadBuffer(4 << 10)
					_, _ = peer.Write(make([]byte, 48<<10)) // the window of a new socket takes it
				}
				wait := l.withSocket(x, func(_ *task.T, conn *netconn.Conn) error {
					if c.begin != nil {
						c.begin(conn)
					}
					conns <- conn
					_, err := io.Copy(conn, conn)
					var oe *net.OpError
					if !c.is(err) || c.op != "" && (!errors.As(err, &oe) || oe.Op != c.op) {
						t.Errorf("io.Copy: %v", err)
					}
					return nil
				})
				conn := <-conns
				if c.stuck {
					if c.end != nil {
						_ = peer.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
					}
					_, _ = peer.Write(make([]byte, 64<<20)) // until the end, or the server is stuck
				} else if _, err := peer.Write([]byte("hi")); err != nil {
					t.Error(err)
				} else if _, err := io.ReadFull(peer, make([]byte, 2)); err != nil && c.op == "" {
					t.Error(err)
				}
				if c.end != nil {
					c.end(conn)
				}
				wait()
				peer.Close()
			})
		}
	})
}

func isClosed(err error) bool  { return errors.Is(err, net.ErrClosed) }
func isStopped(err error) bool { return errors.Is(err, sender.ErrStopped) }

// A task that is stopped while a send waits, behind EOF, ends.
func TestFlowStopped(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		fd, other := tcpPair(t)
		peer := attach(t, other)
		// The two buffers of the way back hold less than this; the window of a new socket takes it.
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 4<<10)
		_ = peer.(*net.TCPConn).SetReadBuffer(4 << 10)
		_, _ = peer.Write(make([]byte, 48<<10))
		_ = peer.(*net.TCPConn).CloseWrite()
		var source stop.Source
		begun, done := make(chan struct{}), make(chan error, 1)
		echoing := task.New(func(t *task.T) error {
			c := netconn.New(t, socketOf(l.Loop, fd))
			defer c.Close()
			close(begun)
			_, err := io.Copy(c, c)
			done <- err
			return nil
		})
		wait := l.spawn(func(t *task.T) error {
			_, err := task.Await(t, sender.WriteEnv(echoing, sender.StopEnv{Token: source.Token()}))
			return err
		})
		<-begun
		for unread := 1; unread > 0; time.Sleep(time.Millisecond) {
			unread, _ = unix.IoctlGetInt(fd, unix.TIOCINQ)
		}
		source.RequestStop()
		if err := <-done; !isStopped(err) {
			t.Errorf("io.Copy: %v", err)
		}
		wait()
		peer.Close()
	})
}

// The messages of a seqpacket socket stay as they are.
func TestCopyOfMessages(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := unix.Write(fds[1], []byte("ab")); err != nil {
				t.Fatal(err)
			}
		}
		wait := l.spawn(func(t *task.T) error { return echo(netconn.New(t, socketOf(l.Loop, fds[0]))) })
		b := make([]byte, 10)
		for range 3 {
			n := 0
			eventually(t, func() bool { n, err = unix.Read(fds[1], b); return err != unix.EAGAIN })
			if string(b[:max(n, 0)]) != "ab" {
				t.Errorf("read %q, %v", b[:max(n, 0)], err)
			}
		}
		unix.Close(fds[1])
		wait()
	})
}
