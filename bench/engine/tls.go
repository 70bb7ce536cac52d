package engine

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
)

// tlsConn is TLS on a connection: crypto/tls over a net.Conn. Its Read awaits on the loop, in a coroutine of the
// connection. Its Write only queues, so it never suspends and can be called anywhere on the loop's thread while the
// coroutine is suspended in a Read.
type tlsConn struct {
	c     *conn
	t     *task.T // the coroutine
	conn  *tls.Conn
	lease reactor.Lease // received bytes that were not read completely
	read  int           // how many of them were read
	out   []byte        // encrypted bytes since the queue was empty
}

func (c *conn) startTLS() {
	tc := &tlsConn{c: c}
	tc.conn = tls.Client((*transport)(tc), c.worker().cfg.TLS)
	c.tls = tc
	c.worker().loop.Spawn(task.New(func(t *task.T) error {
		tc.t = t
		tc.run()
		tc.lease.Release()
		c.worker().flush()
		return nil
	}))
}

// run does the handshake, and then the receives. It is the coroutine.
func (tc *tlsConn) run() {
	c, w := tc.c, tc.c.worker()
	if err := tc.conn.Handshake(); err != nil {
		if tc.current() {
			tc.refused(err)
		}
		return
	}
	if !tc.current() {
		return
	}
	if w.cfg.TLS.ClientSessionCache != nil && tc.conn.ConnectionState().DidResume {
		c.group.win.Resumed++
	}
	c.stands()
	for {
		w.flush()
		n, err := tc.conn.Read(w.clear)
		switch {
		case !tc.current():
			return
		case n > 0:
			c.session.received(w.clear[:n])
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			if tc.current() {
				c.session.ended()
			}
			return
		default:
			c.broke(err)
			return
		}
	}
}

// current reports whether the connection was not closed since the coroutine began.
func (tc *tlsConn) current() bool {
	return tc.c.tls == tc && tc.c.live()
}

func (tc *tlsConn) refused(err error) {
	if errors.As(err, new(syscall.Errno)) {
		tc.c.broke(err)
		return
	}
	tc.c.fail(record.Handshake)
}

// write encrypts p and queues it.
func (tc *tlsConn) write(p []byte) {
	if _, err := tc.conn.Write(p); err != nil {
		tc.c.fail(record.Other)
	}
}

// transport is a tlsConn as the net.Conn below TLS.
type transport tlsConn

func (t *transport) Read(p []byte) (int, error) {
	c := t.c
	for t.lease.Len() == 0 {
		c.worker().flush()
		lease, err := task.Await(t.t, c.socket.RecvLease())
		if err != nil {
			return 0, err
		}
		if lease.Len() == 0 {
			return 0, io.EOF
		}
		c.group.win.BytesIn += int64(lease.Len())
		t.lease, t.read = lease, 0
	}
	n := copy(p, t.lease.Bytes()[t.read:])
	if t.read += n; t.read == t.lease.Len() {
		t.lease.Release()
		t.lease = reactor.Lease{}
	}
	return n, nil
}

// Write queues a copy of p.
func (t *transport) Write(p []byte) (int, error) {
	c := t.c
	if !c.live() {
		return 0, net.ErrClosed
	}
	if c.sending == 0 && len(c.queue) == 0 {
		t.out = t.out[:0]
	}
	n := len(t.out)
	t.out = append(t.out, p...) // bytes in flight do not move: the old array stays
	c.enqueue(t.out[n:])
	return len(p), nil
}

func (t *transport) Close() error                     { return nil } // the conn closes its socket
func (t *transport) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (t *transport) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (t *transport) SetDeadline(time.Time) error      { return nil } // the conn has its own timeouts
func (t *transport) SetReadDeadline(time.Time) error  { return nil }
func (t *transport) SetWriteDeadline(time.Time) error { return nil }
