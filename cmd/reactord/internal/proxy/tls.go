package proxy

import (
	"io"
	"net"
	"os"
	"time"
)

// tlsLayer is the TLS of a connection: with the client, with the server, or with both.
//
// crypto/tls is driven as in reactor/server, whose tls.go says why: the handshake is a part of a task
// (tls_handshake.go), a Read that finds too little returns os.ErrDeadlineExceeded and continues the next time, and what
// is written is queued (tls_flow.go). A connection that is to move in an upgrade has the record layer of package
// tlsrecord behind the handshake (tls_records.go), which is driven in the same way.
type tlsLayer struct {
	conn   *conn
	sides  [2]tlsSide
	relays [2]*relay // by direction, while bytes are in flight
}

// tlsState is the state of TLS with a side:
//
//	handshake → open      the handshake is done
//	open      → notified  passEOF, farewell: close_notify is written, and nothing else from now on
type tlsState uint8

const (
	tlsNone tlsState = iota // there is no TLS with this side
	tlsHandshake
	tlsOpen
	tlsNotified
)

// secureStream is TLS with a side: a *tls.Conn, or a *tlsrecord.Conn behind the handshake.
type secureStream interface {
	io.ReadWriter
	CloseWrite() error
}

// tlsSide is one side of a secure connection: what crypto/tls has for its net.Conn. All of it is on the loop's thread.
type tlsSide struct {
	layer     *tlsLayer
	tls       secureStream // nil if this side speaks no TLS
	handshake *handshake   // in progress
	early     []byte       // that came before the handshake began, or with it
	ticket    []byte       // a record that crypto/tls makes a session of
	received  uint64       // bytes of the socket
	framing   framing      // of what crypto/tls was given
	side      uint8
	state     tlsState
	more      bool // crypto/tls may have bytes that it was not asked for
	fin       bool // the socket has reported EOF
	cut       bool // and crypto/tls was given it
	flooded   bool // the peer makes us answer, and takes no answer
}

// tlsSide returns the TLS state of a side, creating it if needed.
func (c *conn) tlsSide(side int) *tlsSide {
	if c.tls == nil {
		c.tls = &tlsLayer{conn: c}
		for i := range c.tls.sides {
			c.tls.sides[i].layer, c.tls.sides[i].side = c.tls, uint8(i)
		}
	}
	return &c.tls.sides[side]
}

// inward returns the direction from the side, outward the one to it.
func (s *tlsSide) inward() int  { return int(s.side) }
func (s *tlsSide) outward() int { return 1 - int(s.side) }

// Read takes what has arrived.
func (s *tlsSide) Read(p []byte) (int, error) {
	r := s.layer.relays[s.inward()]
	switch {
	case s.ticket != nil:
		return s.readTicket(p)
	case s.handshake != nil:
		return s.handshake.read(p)
	case len(s.early) != 0:
		n := s.takeEarly(p)
		s.framing.took(p[:n])
		return n, nil
	case r != nil && len(r.in) != 0:
		n := r.pull(p)
		s.framing.took(p[:n])
		return n, nil
	case s.fin:
		s.cut = true
		return 0, io.EOF
	}
	return 0, os.ErrDeadlineExceeded
}

// takeEarly takes bytes of early, and with the last one gives up its memory.
func (s *tlsSide) takeEarly(p []byte) (n int) {
	n = copy(p, s.early)
	if s.early = s.early[n:]; len(s.early) == 0 {
		s.early = nil
	}
	return n
}

// Write queues what is to be sent. It never waits: crypto/tls holds a lock meanwhile, and a Read may write.
func (s *tlsSide) Write(p []byte) (int, error) {
	c := s.layer.conn
	switch {
	case s.ticket != nil: // an alert of crypto/tls, whose keys the record layer has now
		return len(p), nil
	case s.handshake != nil:
		s.handshake.write(p)
		return len(p), nil
	case c.phase == phaseClosed || s.flooded:
		return 0, net.ErrClosed
	case c.pipes[s.outward()].state.ended(): // an answer, behind our EOF
		return len(p), nil
	}
	r := s.layer.relay(s.outward())
	if r.unsent > r.limit+floodLimit {
		s.flooded = true
		return 0, net.ErrClosed
	}
	r.append(p)
	return len(p), nil
}

// Close does nothing: the connection closes its sockets.
func (s *tlsSide) Close() error { return nil }

// LocalAddr returns nil: nothing asks for it.
func (s *tlsSide) LocalAddr() net.Addr  { return nil }
func (s *tlsSide) RemoteAddr() net.Addr { return tlsPeer{} }

// The deadlines are those of the handshake, and the timeouts of the connection.
func (s *tlsSide) SetDeadline(time.Time) error      { return nil }
func (s *tlsSide) SetReadDeadline(time.Time) error  { return nil }
func (s *tlsSide) SetWriteDeadline(time.Time) error { return nil }

// tlsPeer is an address that says nothing. crypto/tls has a session under it if there is no name.
type tlsPeer struct{}

func (tlsPeer) Network() string { return "tcp" }
func (tlsPeer) String() string  { return "" }
