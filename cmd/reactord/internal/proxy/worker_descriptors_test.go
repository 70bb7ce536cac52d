package proxy

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/reactor"
	"golang.org/x/sys/unix"
)

// on runs f on the loop of a worker, and waits for it.
func (p *Proxy) on(f func(*worker)) {
	done := make(chan struct{})
	c := &call{w: p.workers[0], f: func(w *worker) { f(w); close(done) }}
	c.Runner = c
	c.w.loop.Enqueue(&c.Work)
	<-done
}

// tcpPair is both sides of a connection. The second is a descriptor that the caller gives to the proxy.
func tcpPair(t *testing.T) (net.Conn, int) {
	t.Helper()
	ln := listen(t)
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fd := -1
	raw, _ := s.(*net.TCPConn).SyscallConn()
	err = raw.Control(func(orig uintptr) { fd, _ = unix.FcntlInt(orig, unix.F_DUPFD_CLOEXEC, 0) })
	if err != nil || fd < 0 {
		t.Fatal(err)
	}
	return c, fd
}

func expectReset(t *testing.T, c net.Conn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%d bytes and %v, want a reset", n, err)
	}
}

// A connection that is accepted after the proxy was closed is closed, too.
func TestAcceptedWhileClosing(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		p := start(t, ring, Backend{}, listen(t))
		c, fd := tcpPair(t)
		p.on(func(w *worker) {
			w.close()
			w.listeners[0].adopt(fd)
		})
		expectReset(t, c)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if n := p.Stats().Listeners[0].Connections; n != 0 {
			t.Errorf("%d connections are counted", n)
		}
	})
}

// exhaust leaves n free descriptors to the process, until the test ends or free is called.
func exhaust(t *testing.T, n int) (free func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	limit := before
	limit.Cur = 256
	if n == 0 {
		limit.Cur = 3 // standard input, output and error; what others close meanwhile cannot be used again
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	var fds []int
	freed := false
	free = func() {
		if freed {
			return
		}
		freed = true
		for _, fd := range fds {
			unix.Close(fd)
		}
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &before)
	}
	t.Cleanup(free)
	for {
		fd, err := unix.Dup(0)
		if err != nil {
			break
		}
		fds = append(fds, fd)
	}
	for range n {
		unix.Close(fds[len(fds)-1])
		fds = fds[:len(fds)-1]
	}
	return free
}

// A connection waits if there is no descriptor for its server's side.
func TestServedOnceThereIsADescriptor(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		var clients []net.Conn
		var fds []int
		for range 3 {
			c, fd := tcpPair(t)
			clients, fds = append(clients, c), append(fds, fd)
		}
		free := exhaust(t, 0)
		p.on(func(w *worker) {
			for _, fd := range fds {
				w.listeners[0].adopt(fd)
			}
		})
		waitFor(t, "all three wait", func() bool { return p.waitingForFD.Load() == 3 })
		p.on(func(w *worker) {
			before := failures(p)
			w.retryWaiting()
			if n := failures(p) - before; n != 1 {
				t.Errorf("retrying has failed %d times, want once", n)
			}
			l := w.forFD.places.First()
			for _, fd := range fds {
				if l == nil {
					t.Error("fewer connections wait")
					break
				}
				if connAt(l).sockets[client].Fd() != fd {
					t.Error("the waiting connections are out of order")
				}
				l = l.Next()
			}
		})
		free()
		for range clients {
			s, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
		}
		if n := p.waitingForFD.Load(); n != 0 {
			t.Errorf("%d connections wait, want none", n)
		}
	})
}

// connAt is the connection at a place in a line.
func connAt(l *intrusive.Links) *conn {
	return intrusive.Owner[place](l, unsafe.Offsetof(place{}.links)).conn
}

func failures(p *Proxy) uint64 { return p.Stats().Listeners[0].AcceptErrors[0].Count }

// It does not wait for longer than the idle timeout, because other connections may need its descriptor.
func TestWaitForADescriptorEnds(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		p := start(t, ring, Backend{IdleTimeout: 150 * time.Millisecond}, listen(t))
		c, fd := tcpPair(t)
		exhaust(t, 0)
		p.on(func(w *worker) { w.listeners[0].adopt(fd) })
		expectReset(t, c)
		_ = p.Close()
		if n := p.waitingForFD.Load(); n != 0 {
			t.Errorf("%d connections wait, want none", n)
		}
	})
}
