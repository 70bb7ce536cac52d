package tlsrecord

import (
	"errors"
	"fmt"
	"io"
	"net"
)

// Transport carries the records of a connection. It belongs to the caller.
type Transport interface {
	// Read returns what has arrived, or os.ErrDeadlineExceeded if nothing has: then Conn.Read returns that, and goes on
	// the next time.
	io.Reader

	// Write sends or queues a record, all of it unless it returns an error. It does not keep p.
	io.Writer

	// Room returns an empty slice with room for n bytes, in which the next record is sealed. The next call is a Write of
	// these bytes. A transport that queues returns the end of its queue, as bufio.Writer.AvailableBuffer does, and then
	// nothing is copied; any other one returns a buffer that its connections share.
	Room(n int) []byte
}

// Conn is a connection of TLS 1.3 whose handshake is done. One goroutine at a time may use it.
//
//	open ─ Read: close_notify ──→ the peer has ended: Read returns io.EOF, Write goes on
//	open ─ CloseWrite ──────────→ we have ended: Write fails, Read goes on
//	any  ─ alert, either way ───→ failed: everything returns that error
type Conn struct {
	transport Transport
	server    bool   // our role
	in, out   *half  // not values: fmt would print what is in the field of another struct
	limit     uint64 // records of a key

	have     int                // bytes of the record that is being read, with its header
	header   [recordHeader]byte // of that record
	buffer   *recordBuffer      // the rest of it, or application data; nil while it is needed for neither
	from, to int                // the application data in the buffer that was not read yet
	hand     []byte             // the part of a handshake message that has come
	useless  int                // records and messages without application data, since the last with some
	ticket   func(record []byte)

	answer   bool // a KeyUpdate is to be sent before further application data
	ended    bool // close_notify was received
	closed   bool // close_notify was sent
	failed   bool
	readErr  error
	writeErr error
}

// maxKeyRecords is the number of records after which a sender changes its key. RFC 8446, section 5.5, has 2^24.5 for
// AES-GCM, and none for ChaCha20-Poly1305.
const maxKeyRecords = 1 << 24

// New returns a connection that continues from a state, which it copies.
func New(transport Transport, s State) (*Conn, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("state of TLS: %w", err)
	}
	suite, err := findSuite(s.Suite)
	if err != nil {
		return nil, err
	}
	halves := &[2]half{{suite: suite}, {suite: suite}}
	c := &Conn{
		transport: transport, server: s.Server, in: &halves[0], out: &halves[1], limit: maxKeyRecords,
		useless: s.Useless, answer: s.Answer, ended: s.Ended, closed: s.Closed,
	}
	if err := errors.Join(c.in.use(s.In.Secret), c.out.use(s.Out.Secret)); err != nil {
		return nil, err
	}
	c.in.seq, c.out.seq = s.In.Sequence, s.Out.Sequence
	if c.ended {
		c.readErr = io.EOF
	}
	c.hand = append(c.hand, s.Handshake...)
	c.have = len(s.Partial)
	copy(c.header[:], s.Partial)
	if c.have > recordHeader {
		c.ensureBuffer()
		copy(c.buffer[:], s.Partial[recordHeader:])
	}
	if len(s.Plain) != 0 {
		c.ensureBuffer()
		c.to = copy(c.buffer[:], s.Plain)
	}
	return c, nil
}

// OnTicket has f called with each record, as it was received, that has only NewSessionTicket messages, until another
// record comes. f may give it to the tls.Conn of the handshake, which expects these records and makes a session of
// them. f is not part of the state.
func (c *Conn) OnTicket(f func(record []byte)) { c.ticket = f }

// State returns a copy of the state, with its secrets.
func (c *Conn) State() State {
	s := State{
		Suite: c.in.suite.id, Server: c.server, In: c.in.direction(), Out: c.out.direction(), Useless: c.useless,
		Answer: c.answer, Ended: c.ended, Closed: c.closed, Failed: c.failed,
	}
	if c.to != 0 {
		s.Plain = append(s.Plain, c.buffer[c.from:c.to]...)
	}
	s.Handshake = append(s.Handshake, c.hand...)
	s.Partial = append(s.Partial, c.header[:min(c.have, recordHeader)]...)
	if c.have > recordHeader {
		s.Partial = append(s.Partial, c.buffer[:c.have-recordHeader]...)
	}
	return s
}

func (h *half) direction() Direction {
	return Direction{Secret: append([]byte(nil), h.secret[:h.suite.secret]...), Sequence: h.seq}
}

// Wipe forgets the secrets and the keys. Then every call returns net.ErrClosed.
func (c *Conn) Wipe() {
	c.fail(net.ErrClosed)
	c.in.wipe()
	c.out.wipe()
}

// fail ends both directions.
func (c *Conn) fail(err error) {
	c.failed, c.readErr, c.writeErr = true, err, err
	c.from, c.to, c.have, c.hand, c.ticket = 0, 0, 0, nil, nil
	c.releaseBuffer()
}

// Format prints which connection it is, and no secrets.
func (c Conn) Format(f fmt.State, verb rune) {
	State{
		Suite: c.in.suite.id, Server: c.server, In: Direction{Sequence: c.in.seq}, Out: Direction{Sequence: c.out.seq},
	}.Format(f, verb)
}
