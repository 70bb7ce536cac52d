package e2e

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A peer is one side of a connection under test. A method fails the test if it does not succeed within patience.
type peer struct {
	*net.TCPConn
	t testing.TB
}

func newPeer(t testing.TB, c net.Conn) peer {
	t.Helper()
	t.Cleanup(func() { c.Close() })
	p := peer{c.(*net.TCPConn), t}
	p.within(patience)
	return p
}

// within sets the deadline of all later operations on the connection.
func (p peer) within(d time.Duration) {
	p.t.Helper()
	if err := p.SetDeadline(time.Now().Add(d)); err != nil {
		p.t.Fatal(err)
	}
}

// dial connects to addr.
func dial(t testing.TB, addr string) peer {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	return newPeer(t, c)
}

// A server is a listening socket whose connections the test accepts itself.
type server struct {
	*net.TCPListener
	t testing.TB
}

func listen(t testing.TB) server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return server{l.(*net.TCPListener), t}
}

func (s server) addr() string { return s.Addr().String() }

// accept takes the next connection.
func (s server) accept() peer {
	s.t.Helper()
	if err := s.SetDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	c, err := s.Accept()
	if err != nil {
		s.t.Fatalf("no connection arrived: %v", err)
	}
	return newPeer(s.t, c)
}

// serve calls f for every connection, in its own goroutine, until the test ends. The connection is closed after f has
// returned.
func serve(t testing.TB, f func(c *net.TCPConn)) (addr string) {
	t.Helper()
	s := listen(t)
	serveOn(t, s.TCPListener, f)
	return s.addr()
}

// serveOn is the same with a listener, which it closes when the test ends.
func serveOn(t testing.TB, s *net.TCPListener, f func(c *net.TCPConn)) {
	t.Helper()
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		open = make(map[*net.TCPConn]bool)
	)
	wg.Go(func() {
		for {
			c, err := s.AcceptTCP()
			if err != nil {
				return
			}
			mu.Lock()
			open[c] = true
			mu.Unlock()
			wg.Go(func() {
				f(c)
				mu.Lock()
				delete(open, c)
				mu.Unlock()
				c.Close()
			})
		}
	})
	t.Cleanup(func() {
		s.Close()
		mu.Lock()
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
}

// echo sends back what it receives, until EOF.
func echo(c *net.TCPConn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p peer) send(b []byte) {
	p.t.Helper()
	p.within(patience)
	if _, err := p.Write(b); err != nil {
		p.t.Fatalf("sending %d bytes: %v", len(b), err)
	}
}

// expect receives exactly want.
func (p peer) expect(want []byte) {
	p.t.Helper()
	p.within(patience)
	got := make([]byte, len(want))
	if n, err := io.ReadFull(p, got); err != nil {
		p.t.Fatalf("received %d bytes of %d: %v", n, len(want), err)
	}
	if !bytes.Equal(got, want) {
		p.t.Fatalf("the received bytes differ from those sent, from %d on", mismatch(got, want))
	}
}

// mismatch is where a and b begin to differ.
func mismatch(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// expectEOF receives EOF, and nothing before it.
func (p peer) expectEOF() {
	p.t.Helper()
	if n, err := p.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		p.t.Fatalf("want EOF, got %d bytes and %v", n, err)
	}
}

// expectReset receives until the connection ends, which must be by a reset.
func (p peer) expectReset() {
	p.t.Helper()
	if n, err := io.Copy(io.Discard, p); !errors.Is(err, syscall.ECONNRESET) {
		p.t.Fatalf("want a reset, got %d bytes and %v", n, err)
	}
}

// expectGone receives until EOF or a reset.
func (p peer) expectGone() {
	p.t.Helper()
	if _, err := io.Copy(io.Discard, p); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		p.t.Fatalf("want EOF or a reset: %v", err)
	}
}

// expectSilence checks that for a short time neither bytes nor EOF arrive.
func (p peer) expectSilence(d time.Duration) {
	p.t.Helper()
	p.within(d)
	if n, err := p.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Fatalf("want silence, got %d bytes and %v", n, err)
	}
	p.within(patience)
}

// finish sends EOF. The peer can still receive.
func (p peer) finish() {
	p.t.Helper()
	if err := p.CloseWrite(); err != nil {
		p.t.Fatalf("finishing: %v", err)
	}
}

// sendLast sends b and EOF in one segment.
func (p peer) sendLast(b []byte) {
	p.t.Helper()
	p.control(func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_CORK, 1) })
	p.send(b)
	p.finish()
}

// reset resets the connection.
func (p peer) reset() {
	p.t.Helper()
	if err := p.SetLinger(0); err != nil {
		p.t.Fatal(err)
	}
	p.Close()
}

// awaitUnread waits until n bytes have arrived, and reads none.
func (p peer) awaitUnread(n int) {
	p.t.Helper()
	eventually(p.t, "the bytes arrive", func() bool {
		var queued int
		p.control(func(fd int) (err error) {
			queued, err = unix.IoctlGetInt(fd, unix.TIOCINQ)
			return err
		})
		return queued >= n
	})
}

func (p peer) control(f func(fd int) error) {
	p.t.Helper()
	raw, err := p.SyscallConn()
	if err == nil {
		var ferr error
		err = raw.Control(func(fd uintptr) { ferr = f(int(fd)) })
		err = errors.Join(err, ferr)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
