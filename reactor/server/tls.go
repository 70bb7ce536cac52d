//go:build linux

package server

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// maxRecord is the most bytes that a TLS record has (RFC 8446, section 5.1).
const maxRecord = 16 << 10

// secure is TLS between a connection and its socket.
//
// crypto/tls has no handshake that can be continued, so the handshake is a task. When it is done, neither a task nor a
// buffer is left: a Read of crypto/tls that finds too little returns os.ErrDeadlineExceeded, as after SetReadDeadline,
// and continues the next time. It reads the leases of the connection's input, which stay encrypted while the connection
// is not read from. What it writes is appended to the connection's output, so nothing waits under its locks.
type secure struct {
	conn     *Conn
	tls      *tls.Conn
	shake    *handshake // nil when it has ended
	head     int        // bytes of the first lease of input.queue that crypto/tls has taken
	more     bool       // crypto/tls may have bytes that were not read yet
	cut      bool       // crypto/tls was given the EOF of the socket
	ended    bool       // the peer has sent close_notify
	notified bool       // close_notify was written
	alone    bool       // and nothing else was unsent then
}

// TLS returns the state of the TLS connection, with the protocol that ALPN has chosen, and the client's certificates;
// nil without TLS. It allocates.
func (c *Conn) TLS() *tls.ConnectionState {
	c.assertOnThread("TLS")
	if c.tls == nil {
		return nil
	}
	state := c.tls.tls.ConnectionState()
	return &state
}

// handshake is the handshake of a connection: a task, and its receiver and environment.
type handshake struct {
	sender.EmptyEnv
	s       *secure
	t       *task.T
	op      task.Op
	arrived task.Cond // there is something to read, or the connection is no longer shaking hands
	stamp   stamp     // in worker.shaking
	closed  bool      // the socket is closed: the connection ends when the task does
}

// shakeHands begins the handshake of a connection that was accepted.
func (c *Conn) shakeHands() {
	s := &secure{conn: c}
	s.tls = tls.Server((*transport)(s), c.w.cfg.TLS)
	h := &handshake{s: s}
	c.tls, s.shake = s, h
	c.w.shaking.begin(&h.stamp)
	task.New(func(t *task.T) error {
		h.t = t
		return s.tls.Handshake()
	}).Connect(&h.op, h)
	h.op.Start()
}

// ended takes in the end of the task: it opens or ends the connection.
func (h *handshake) ended(err error) {
	c := h.s.conn
	h.s.shake = nil
	c.w.shaking.end(&h.stamp)
	switch {
	case h.closed:
		c.end.SetValue(struct{}{})
	case c.state != connShaking: // it was ended meanwhile
	case err != nil:
		c.w.handshakeFailed(err)
		c.finish(err) // when the alert has been sent
	default:
		if h.s.tls.ConnectionState().Version == tls.VersionTLS13 {
			// The tickets were sent before, so nothing carries the ACK of the client's Finished. With Nagle's
			// algorithm, the client's first bytes would wait for it, 40 ms.
			_ = c.socket.SetQuickAck(true)
		}
		c.state, h.s.more = connOpen, true
		c.w.guard(c, callOpen)
		c.w.mark(c)
	}
}

// handshakeFailed counts and logs a handshake that has failed.
func (w *worker) handshakeFailed(err error) {
	w.count.handshakes.Add(1)
	w.cfg.ErrorLog.Debug("a TLS handshake has failed", "err", err)
}

// Env returns an environment with the loop.
func (h *handshake) Env() sender.Env             { return h }
func (h *handshake) Scheduler() sender.Scheduler { return h.s.conn.w.loop }

// SetValue opens the connection, whose handshake is done.
func (h *handshake) SetValue(struct{}) { h.ended(nil) }

// SetStopped ends the handshake because the loop stops.
func (h *handshake) SetStopped() { h.ended(net.ErrClosed) }

// SetError ends the connection, because the handshake has failed, or a function of the tls.Config has panicked.
func (h *handshake) SetError(err error) {
	if p, ok := errors.AsType[*sender.PanicError](err); ok {
		h.s.conn.w.taskPanicked(p)
		err = &PanicError{p.Value, p.Stack}
	}
	h.ended(err)
}

// arrive notes that something has arrived: bytes, EOF, or the end of the connection.
func (s *secure) arrive() {
	if s.shake != nil {
		s.shake.arrived.Signal()
	} else if s.conn.reads() {
		s.conn.readOn()
	}
}

// decrypt presents what has arrived. It reports whether the peer has ended the stream.
func (s *secure) decrypt() (eof bool) {
	c, pool := s.conn, &s.conn.w.buffers
	for s.more = true; c.reads(); {
		buf := pool.get(maxRecord)
		n, err := s.tls.Read(buf[:cap(buf)])
		if n > 0 {
			c.take(piece{b: buf[:n], buf: buf})
		} else {
			pool.put(buf)
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			s.more = false
			return false
		case err == io.EOF && !s.cut: //nolint:errorlint // as Read returns it
			s.ended = true
			return true
		case err == io.EOF: //nolint:errorlint // without close_notify: it may have been cut
			c.finish(io.ErrUnexpectedEOF)
		default:
			c.finish(err)
		}
	}
	return false
}

// write queues b to be encrypted with all else there is to send, so that small writes share a record.
func (s *secure) write(b []byte) {
	o, pool := s.conn.output(), &s.conn.w.buffers
	if len(o.plain)+len(b) > maxRecord {
		if s.seal(); len(b) > maxRecord/2 {
			s.encrypt(b)
			return
		}
		o = s.conn.output()
	}
	if n := len(o.plain) + len(b); n > cap(o.plain) {
		grown := append(pool.get(n), o.plain...)
		pool.put(o.plain)
		o.plain = grown
	}
	o.plain = append(o.plain, b...)
	o.added(len(b))
}

// seal encrypts what is queued, and close_notify behind it if that is all.
func (s *secure) seal() {
	c := s.conn
	if o := c.out; o != nil && len(o.plain) != 0 {
		b := o.plain
		o.plain = nil
		o.unsent -= len(b)
		s.encrypt(b)
		c.w.buffers.put(b)
	}
	if c.state == connFlushing && !s.notified {
		s.notified, s.alone = true, c.out == nil
		_ = s.tls.CloseWrite() // does nothing if the handshake was not done
	}
}

// settled reports whether the peer has ended the stream and everything was sent but close_notify. Peers do not wait for
// that one, so it makes them reset the connection, which is no error then.
func (s *secure) settled() bool { return s.ended && (s.alone || s.conn.state == connLingering) }

func (s *secure) encrypt(b []byte) {
	c := s.conn
	c.output().room = len(b) + len(b)/8 + 512 // crypto/tls begins with small records
	if _, err := s.tls.Write(b); err != nil {
		c.finish(err)
	}
	if o := c.out; o != nil {
		if o.room = 0; len(o.pieces) == 0 {
			o.release()
		}
	}
}

// transport is the socket as crypto/tls sees it. It is called on the loop's thread.
type transport secure

// Read takes what has arrived.
func (r *transport) Read(p []byte) (int, error) {
	s, c := (*secure)(r), r.conn
	for {
		switch in := c.in; {
		case c.state > connOpen:
			return 0, net.ErrClosed
		case in != nil && len(in.queue) != 0:
			return s.pull(p), nil
		case c.eof:
			s.cut = true
			return 0, io.EOF
		case s.shake == nil:
			return 0, os.ErrDeadlineExceeded
		}
		if _, err := task.Await(s.shake.t, s.shake.arrived.Wait()); err != nil {
			return 0, err
		}
	}
}

// pull takes bytes of the first lease.
func (s *secure) pull(p []byte) int {
	in := s.conn.in
	lease := in.queue[0]
	n := copy(p, lease.Bytes()[s.head:])
	if s.head += n; s.head == lease.Len() {
		s.head = 0
		in.queue = append(in.queue[:0], in.queue[1:]...)
		s.conn.giveBack(lease)
	}
	return n
}

// Write queues records to be sent.
func (r *transport) Write(p []byte) (int, error) {
	c := r.conn
	if c.state >= connLingering {
		return 0, net.ErrClosed
	}
	c.queueCopy(p)
	c.w.mark(c)
	return len(p), nil
}

// Close ends the connection: a function of the tls.Config may call it.
func (r *transport) Close() error {
	if r.conn.state < connClosing {
		r.conn.abort(net.ErrClosed)
	}
	return nil
}

func (r *transport) LocalAddr() net.Addr  { return r.conn.LocalAddr() }
func (r *transport) RemoteAddr() net.Addr { return r.conn.RemoteAddr() }

// The deadlines are those of the Config.
func (r *transport) SetDeadline(time.Time) error      { return nil }
func (r *transport) SetReadDeadline(time.Time) error  { return nil }
func (r *transport) SetWriteDeadline(time.Time) error { return nil }
