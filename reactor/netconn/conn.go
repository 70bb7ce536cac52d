//go:build linux

package netconn

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// Conn is a connection as a net.Conn for one task, in which Read and Write await. See "Where methods
// may be called" in the documentation of the package. New makes it.
type Conn struct {
	t    *task.T
	s    *reactor.Socket
	pool *task.CoroutinePool // of the loop: it knows its thread

	reading, writing half
	next             request
	leased           reactor.Lease // of WriteTo
	idle             time.Duration
	drain            stop.Token

	state   atomic.Uint32 // a connState
	wanted  atomic.Uint32 // requests of other goroutines that the loop has yet to carry out
	post    sender.Work   // makes the loop do it
	ender   *ending       // from the beginning of the close on
	out     *queue        // nil if Write awaits
	address addresses
}

var _ net.Conn = (*Conn)(nil)

// connState is the state of a Conn.
//
//	open → closing     Close was called, on any goroutine: Read and Write fail from now on
//	closing → closed   the socket is closed
type connState = uint32

const (
	connOpen connState = iota
	connClosing
	connClosed
)

// What may be wanted of the loop: bits of Conn.wanted.
const (
	wantPost       uint32 = 1 << iota // the post is enqueued
	wantClose                         // begin to close
	wantCloseWrite                    // half-close
)

// New makes a Conn of a connected socket, which it owns from now on: [Conn.Close] closes it. It is called by the
// function of the task t, which runs on the socket's loop.
//
// It allocates once.
func New(t *task.T, s *reactor.Socket) *Conn {
	c := new(Conn)
	c.Init(t, s)
	return c
}

// Init does the same as [New] for a zero Conn that is part of another structure, in memory that is never moved. So
// nothing is allocated on the stack of a task, which is small.
func (c *Conn) Init(t *task.T, s *reactor.Socket) {
	c.t, c.s, c.pool = t, s, poolOf(t, s.Loop(), "New")
	c.post.Runner = (*posted)(c)
	c.reading.timer.Init(&c.reading)
	c.writing.timer.Init(&c.writing)
}

// poolOf returns the pool of the coroutines of a task that runs on the loop l. It is called by the task's function.
func poolOf(t *task.T, l *reactor.Loop, method string) *task.CoroutinePool {
	sch := t.Scheduler()
	for {
		w, ok := sch.(interface{ Unwrap() sender.Scheduler })
		if !ok {
			break
		}
		sch = w.Unwrap()
	}
	if on, ok := sch.(*reactor.Loop); !ok || on != l {
		panic("netconn: " + method + " with a socket of another loop than the task's: " +
			"start the task with Spawn of the socket's loop")
	}
	return l.Coroutines()
}

// Socket returns the socket of the connection, for its options. It belongs to the Conn. On the loop's thread.
func (c *Conn) Socket() *reactor.Socket { return c.s }

// Loop returns the loop of the connection. On any goroutine.
func (c *Conn) Loop() *reactor.Loop { return c.s.Loop() }

// Read receives into p what has arrived, and awaits that something has. At the end of the peer's bytes it returns
// io.EOF.
//
// The error is a *net.OpError that matches os.ErrDeadlineExceeded after the deadline, net.ErrClosed after Close, also
// if another goroutine closes, and a syscall.Errno if the connection has failed. If the task is requested to stop, or
// the token of [Conn.SetDrain] is, the error is [sender.ErrStopped]; if bytes had arrived, they are returned instead.
//
// In the task.
func (c *Conn) Read(p []byte) (int, error) {
	c.mustAwait("Read")
	if len(p) == 0 {
		return 0, nil
	}
	c.next.what, c.next.p = actRecv, p
	n, err := c.await()
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return n, err
}

// Write sends all of p, which is used until it returns. If it could send only a part it returns the number of bytes
// sent, and an error like those of [Conn.Read]. A Conn of a [TLS] appends p to its queue instead: see "TLS".
//
// In the task.
func (c *Conn) Write(p []byte) (int, error) {
	if c.out != nil {
		return c.enqueue(p)
	}
	c.mustAwait("Write")
	if len(p) == 0 {
		return 0, nil
	}
	c.next.what, c.next.p = actSend, p
	return c.await()
}

// mustAwait panics unless the caller is the task's function.
//
//go:noinline
func (c *Conn) mustAwait(method string) {
	if !c.inTask() {
		panic("netconn: " + method + " of a Conn outside of its task's function: a Conn is read and written in the task " +
			"that it was made with; for other goroutines use the conns of Listen and Dial")
	}
}

// inTask reports whether the caller is the task's function, which may await. On any goroutine.
func (c *Conn) inTask() bool { return c.pool.Here() && c.t.Running() }

// SetIdle bounds each Read and each Write to d on the loop's clock, in addition to the deadlines; 0, the default, does
// not. It holds from the next Read or Write on. On the loop's thread.
func (c *Conn) SetIdle(d time.Duration) { c.idle = d }

// SetDrain makes Reads end with [sender.ErrStopped] when token is requested to stop, and no Write: for a server that
// answers what it has received, and then ends. It holds from the next Read on. On the loop's thread.
func (c *Conn) SetDrain(token stop.Token) { c.drain = token }

func (c *Conn) readError(err error) error { return c.opError("read", err) }

func (c *Conn) writeError(err error) error { return c.opError("write", err) }

// opError converts err to the error that package net would return.
func (c *Conn) opError(op string, err error) error {
	switch {
	case err == nil || errors.Is(err, sender.ErrStopped):
		return err
	case errors.Is(err, net.ErrClosed):
		err = net.ErrClosed
	}
	local, remote := c.knownAddresses()
	return &net.OpError{Op: op, Net: networkOf(local), Source: local, Addr: remote, Err: err}
}
