//go:build linux

package server

// Handler serves the connections of one loop. All its methods are called on the loop's thread, never one inside
// another, so a handler and its connections need no lock. None of them may block.
type Handler interface {
	// Open is called when a connection was accepted and, with TLS, the handshake is done: before anything else. It may
	// write.
	Open(c *Conn)

	// Data is called when bytes have arrived. in is leased until Data returns. used says how many of them were consumed.
	// The others are unread: they are presented again, together with what follows. If some were used and others were
	// not, Data is called again immediately.
	//
	// Bytes to send are appended to out, which is empty, and returned; nil sends nothing. They are sent together with
	// all else that the connection has to send in the same turn of the loop. out belongs to the server afterwards. If
	// the result is in, or a part of it, it is sent from where it was received, without a copy: an echo returns
	// len(in), in, nil. Other memory is copied.
	//
	// An error ends the connection when everything has been sent, as [Conn.Close] does, and is given to Closed. io.EOF
	// does so without an error.
	Data(c *Conn, in, out []byte) (used int, _ []byte, err error)

	// Closed is called once when the connection has been closed, after Open; no call follows for it. err says why:
	//
	//   - nil: the peer has sent EOF, or the server closed it by Close, by io.EOF, or because it shuts down;
	//   - io.ErrUnexpectedEOF: the peer has sent EOF in the middle of a message: bytes were unread; or, with TLS, without
	//     a close_notify;
	//   - a *[TimeoutError], which matches os.ErrDeadlineExceeded;
	//   - [ErrUnread]: the handler left too many bytes unread;
	//   - a *[PanicError]: a method of the handler has panicked;
	//   - net.ErrClosed: the loop was stopped;
	//   - the error of Data or CloseWithError, or that of a system call, such as ECONNRESET.
	Closed(c *Conn, err error)
}

// DrainHandler is an optional interface of a [Handler].
type DrainHandler interface {
	// Drain is called for each open connection when the server shuts down. It may write. When it returns, the connection
	// is ended as by [Conn.Close], unless it is paused: then it is ended when it is resumed.
	Drain(c *Conn)
}

// WritableHandler is an optional interface of a [Handler].
type WritableHandler interface {
	// Writable is called when what is unsent has fallen to half of Config.HighWater, after it was more than that. A
	// handler that has more to send than was asked for, such as a long file or a broadcast, writes until [Conn.Unsent]
	// exceeds HighWater, and continues here.
	Writable(c *Conn)
}

// Base has the methods of a [Handler] that do nothing. Embed it, and write Data.
type Base struct{}

// Open does nothing.
func (Base) Open(*Conn) {}

// Closed does nothing.
func (Base) Closed(*Conn, error) {}
