//go:build linux

package netconn

import (
	"context"
	"crypto/tls"
	"io"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
)

// TLS is a Conn under crypto/tls, for one task. Its methods are those of [tls.Conn], except that Write first awaits
// room in the queue of what is yet to be sent. NetConn is the *[Conn]. See "TLS" in the documentation of the package.
type TLS struct {
	*tls.Conn
	c         *Conn
	handshake bool // done
	server    bool
}

// Server returns the server's side of TLS over c, which belongs to it from now on. No earlier write to c may still be
// in flight. In the task of c.
func Server(c *Conn, cfg *tls.Config) *TLS {
	c.queueWrites()
	return &TLS{Conn: tls.Server(c, cfg), c: c, server: true}
}

// Client returns the client's side, as [Server] does the server's. As for [tls.Client], cfg has a ServerName or is
// InsecureSkipVerify.
func Client(c *Conn, cfg *tls.Config) *TLS {
	c.queueWrites()
	return &TLS{Conn: tls.Client(c, cfg), c: c}
}

// Loop returns the loop of the connection. On any goroutine.
func (s *TLS) Loop() *reactor.Loop { return s.c.Loop() }

// Handshake runs the handshake, unless that is done: the first Read or Write does it too. In the task.
func (s *TLS) Handshake() error { return s.HandshakeContext(context.Background()) }

// HandshakeContext runs the handshake as [TLS.Handshake] does, with a context. When ctx is done, the connection is
// closed, and the error is that of ctx. In the task.
func (s *TLS) HandshakeContext(ctx context.Context) error {
	if s.handshake {
		return nil
	}
	s.c.mustAwait("Handshake")
	err := s.Conn.HandshakeContext(ctx)
	s.handshake = err == nil
	if s.handshake && s.server && s.ConnectionState().Version == tls.VersionTLS13 {
		// The tickets were sent before, so nothing carries the ACK of the client's Finished. With Nagle's algorithm,
		// the client's first bytes would wait for it, 40 ms.
		_ = s.c.s.SetQuickAck(true)
	}
	return err
}

// Read reads what the peer has sent. At its close_notify it returns io.EOF; at an EOF without that,
// io.ErrUnexpectedEOF. In the task.
func (s *TLS) Read(p []byte) (int, error) {
	if err := s.Handshake(); err != nil {
		return 0, err
	}
	s.c.mustAwait("Read")
	return s.Conn.Read(p)
}

// Write encrypts p and appends it to the queue that the loop sends, in pieces. Before each it awaits that there is
// room. In the task.
func (s *TLS) Write(p []byte) (int, error) {
	s.c.mustAwait("Write")
	if err := s.Handshake(); err != nil {
		return 0, err
	}
	return s.WriteIn(s.c.t, p)
}

// WriteIn writes as [TLS.Write] does, in another task of the same loop, so that one task can read and another one
// write. It is called by the function of t, after the handshake. Only one task writes at a time.
func (s *TLS) WriteIn(t *task.T, p []byte) (int, error) {
	switch {
	case !s.handshake:
		panic("netconn: WriteIn before the handshake: call Handshake first, in the task of the Conn")
	case !s.c.pool.Here() || !t.Running():
		panic("netconn: WriteIn outside of the task that it was given: call it in the function of that task, " +
			"on the loop of the Conn")
	}
	total := 0
	for {
		if err := s.c.early(&s.c.writing); err != nil { // crypto/tls could not write again after that
			return total, s.c.writeError(err)
		}
		if err := s.c.awaitRoom(t, highWater); err != nil {
			return total, err
		}
		n, err := s.Conn.Write(p[:min(len(p), chunk)])
		total += n
		if p = p[n:]; err != nil || len(p) == 0 {
			return total, err
		}
	}
}

// Flush awaits that all that was written has been sent, or fails with the error of sending. In the task.
// Close does that too.
func (s *TLS) Flush() error {
	s.c.mustAwait("Flush")
	return s.c.awaitRoom(s.c.t, 0)
}

// ReadFrom writes what it reads from r until EOF, see [Conn.ReadFrom]. In the task.
func (s *TLS) ReadFrom(r io.Reader) (int64, error) { return readFrom(s, r) }
