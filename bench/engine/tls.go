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

// tlsConn is TLS on a connection: crypto/tls over a net.Conn whose Read awaits on the loop, inside of a
// coroutine of the connection's own, and whose Write only queues. So writing never suspends, and may
// be done from anywhere on the loop's thread, while the coroutine is suspended in a Read.
type tlsConn struct {
	c     *conn
	t     *task.T // the coroutine
	conn  *tls.Conn
	lease reactor.Lease // received, and not read whole
	read  int           // bytes of it
	out   []byte        // what has been written since the connection was drained last
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

// run is the coroutine: the handshake, and then what comes.
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

// current: the connection is still the one that the coroutine is for.
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

// Write queues a copy of p, behind what is queued already.
func (t *transport) Write(p []byte) (int, error) {
	c := t.c
	if !c.live() {
		return 0, net.ErrClosed
	}
	if c.sending == 0 && len(c.queue) == 0 {
		t.out = t.out[:0]
	}
	n := len(t.out)
	t.out = append(t.out, p...) // what is in flight stays where it is
	c.enqueue(t.out[n:])
	return len(p), nil
}

func (t *transport) Close() error                     { return nil } // the socket is the conn's
func (t *transport) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (t *transport) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (t *transport) SetDeadline(time.Time) error      { return nil } // the conn has its own
func (t *transport) SetReadDeadline(time.Time) error  { return nil }
func (t *transport) SetWriteDeadline(time.Time) error { return nil }
