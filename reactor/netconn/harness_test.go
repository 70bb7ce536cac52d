//go:build linux

package netconn_test

import (
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender/task"
)

// patience is how long anything may take before a test is given up. Nothing is expected to.
const patience = 20 * time.Second

// onRings runs a test on a loop of each kind of ring.
func onRings(t *testing.T, f func(t *testing.T, l *running)) {
	for _, kind := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		t.Run(string(kind), func(t *testing.T) {
			l := newLoop(t, kind)
			defer l.end()
			f(t, l)
		})
	}
}

// running is a loop that runs on its own goroutine.
type running struct {
	*reactor.Loop
	t     testing.TB
	ended chan error
}

func newLoop(t testing.TB, kind reactor.RingKind) *running {
	t.Helper()
	l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind, OnTaskError: func(err error) { t.Errorf("a task: %v", err) }})
	if err != nil {
		if kind == reactor.IOUring {
			testenv.NeedIOUring(t, err)
		}
		t.Fatal(err)
	}
	r := &running{Loop: l, t: t, ended: make(chan error, 1)}
	go func() { r.ended <- l.Run(nil) }()
	return r
}

// end stops the loop and expects nothing to be left of it.
func (l *running) end() {
	l.t.Helper()
	l.Stop()
	select {
	case err := <-l.ended:
		if err != nil {
			l.t.Errorf("Run: %v", err)
		}
	case <-time.After(patience):
		l.t.Fatalf("Run does not return: %+v", l.Stats())
	}
	if st := l.Stats(); st.InFlight != 0 || st.Stale != 0 || st.Leaked != 0 || st.LeasedBytes != 0 {
		l.t.Errorf("the counters of a loop that has ended: %+v", st)
	}
}

// spawn runs a task on the loop. wait waits for its end.
func (l *running) spawn(f func(t *task.T) error) (wait func()) {
	done := make(chan error, 1)
	l.SpawnOr(task.New(func(t *task.T) (err error) {
		defer func() { done <- err }()
		return f(t)
	}), func() { done <- errors.New("it did not run") })
	return func() {
		l.t.Helper()
		select {
		case err := <-done:
			if err != nil {
				l.t.Errorf("a task failed: %v", err)
			}
		case <-time.After(patience):
			l.t.Fatalf("a task does not end: %+v", l.Stats())
		}
	}
}

// tcpPair is a connection over the loopback, as descriptors with O_NONBLOCK.
func tcpPair(t testing.TB) (a, b int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	x, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	y, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return detach(t, x), detach(t, y)
}

// detach takes the descriptor out of a net.Conn.
func detach(t testing.TB, c net.Conn) int {
	t.Helper()
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	fd := -1
	if err == nil {
		err = raw.Control(func(p uintptr) {
			var e error
			if fd, e = unix.FcntlInt(p, unix.F_DUPFD_CLOEXEC, 0); e != nil {
				t.Error(e)
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// attach makes a net.Conn of a descriptor.
func attach(t testing.TB, fd int) net.Conn {
	t.Helper()
	f := os.NewFile(uintptr(fd), "")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// withConn runs f in a task with one end of a connection, and returns the other end.
func (l *running) withConn(f func(t *task.T, c *netconn.Conn) error) (peer net.Conn, wait func()) {
	l.t.Helper()
	a, b := tcpPair(l.t)
	return attach(l.t, b), l.withSocket(a, f)
}

// withSocket runs f in a task with a connected socket.
func (l *running) withSocket(fd int, f func(t *task.T, c *netconn.Conn) error) (wait func()) {
	return l.spawn(func(t *task.T) error {
		c := netconn.New(t, socketOf(l.Loop, fd))
		defer c.Close()
		return f(t, c)
	})
}

// driven is a Conn of tasks that goroutines use: what they ask for, two tasks do.
type driven struct {
	*netconn.Conn // of the task that reads
	writer        *netconn.Conn
	reads, writes chan request
	once          sync.Once
	ended         chan struct{}
	closed        chan struct{}
}

type request struct {
	p    []byte
	done chan outcome
}

type outcome struct {
	n   int
	err error
}

func (l *running) drive(fd int) *driven {
	d := &driven{reads: make(chan request), writes: make(chan request), closed: make(chan struct{})}
	s := new(reactor.Socket)
	var ready sync.WaitGroup
	ready.Add(2)
	serve := func(c **netconn.Conn, requests chan request, do func(*netconn.Conn, []byte) (int, error)) func() {
		return l.spawn(func(t *task.T) error {
			if s.Loop() == nil {
				s.Init(l.Loop, fd)
			}
			*c = netconn.New(t, s)
			ready.Done()
			for {
				r, err := task.Await(t, reactor.Offload(l.Loop, func() (request, error) {
					select {
					case r := <-requests:
						return r, nil
					case <-d.closed:
						return request{}, net.ErrClosed
					}
				}))
				if err != nil {
					return nil
				}
				n, err := do(*c, r.p)
				r.done <- outcome{n, err}
			}
		})
	}
	first := serve(&d.Conn, d.reads, (*netconn.Conn).Read)
	second := serve(&d.writer, d.writes, (*netconn.Conn).Write)
	ready.Wait()
	d.ended = make(chan struct{})
	go func() {
		defer close(d.ended)
		first()
		second()
	}()
	return d
}

func (d *driven) ask(to chan request, p []byte) (int, error) {
	r := request{p, make(chan outcome, 1)}
	select {
	case to <- r:
		o := <-r.done
		return o.n, o.err
	case <-d.closed:
		return 0, &net.OpError{Op: "test", Net: "tcp", Err: net.ErrClosed}
	}
}

func (d *driven) Read(p []byte) (int, error)  { return d.ask(d.reads, p) }
func (d *driven) Write(p []byte) (int, error) { return d.ask(d.writes, p) }

func (d *driven) SetWriteDeadline(t time.Time) error { return d.writer.SetWriteDeadline(t) }

func (d *driven) SetDeadline(t time.Time) error {
	_ = d.writer.SetDeadline(t)
	return d.Conn.SetDeadline(t)
}

func (d *driven) Close() error {
	err := d.Conn.Close()
	d.once.Do(func() { close(d.closed) })
	<-d.ended
	return err
}
