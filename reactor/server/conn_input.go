//go:build linux

package server

import (
	"io"
	"net"
	"slices"
	"unsafe"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

const credit = 16 // receive buffers that a connection may hold; then it is not read from

// input holds what a connection has received, and its handler has not consumed. The rest of a message is never kept in
// a receive buffer: a sequence of bulk receives no more before it has all of its buffers back.
type input struct {
	conn   *Conn
	rest   []byte          // was presented; further bytes are appended, in place if there is room
	buf    []byte          // of the pool: the rest is in it
	need   int             // Data is not called for fewer bytes: see Need
	seen   int             // bytes of the rest that Data has seen; if fewer than all, it is to be presented again
	queue  []reactor.Lease // arrived since, while the connection was not read from
	unread stamp
}

func inputOwner(s *stamp) *input {
	return (*input)(unsafe.Add(unsafe.Pointer(s), -int(unsafe.Offsetof(input{}.unread))))
}

// received is a connection as the receiver of its receives.
type received Conn

// SetNext takes what was received.
func (r *received) SetNext(lease reactor.Lease) {
	c := (*Conn)(r)
	c.touch()
	switch {
	case c.state > connOpen: // so that EOF is seen
		c.giveBack(lease)
	case c.tls != nil:
		in := c.input()
		in.queue = append(in.queue, lease)
		c.tls.arrive()
	case c.holds != 0 || c.in != nil && len(c.in.queue) != 0:
		in := c.input()
		in.queue = append(in.queue, lease)
	default:
		c.take(piece{b: lease.Bytes(), lease: lease})
	}
}

// SetValue takes the peer's EOF.
func (r *received) SetValue(struct{}) {
	c := (*Conn)(r)
	c.eof = true
	switch {
	case c.state == connLingering:
		c.close()
	case c.tls != nil:
		c.tls.arrive()
	case c.reads():
		c.readOn()
	}
}

// SetError closes the connection, which was reset.
func (r *received) SetError(err error) { (*Conn)(r).abort(err) }

// SetStopped closes the connection, because the loop stops.
func (r *received) SetStopped() { (*Conn)(r).abort(net.ErrClosed) }

// Env returns an empty environment.
func (r *received) Env() sender.Env { return sender.EmptyEnv{} }

func (c *Conn) input() *input {
	if c.in == nil {
		c.in = c.w.inputs.get()
		c.in.conn = c
	}
	return c.in
}

// giveBack returns a lease, and lets as much be received again.
func (c *Conn) giveBack(lease reactor.Lease) {
	credits := lease.Credits()
	lease.Release()
	if c.state < connClosing {
		c.recv.Grant(credits)
	}
}

// reads reports whether the handler may get bytes.
func (c *Conn) reads() bool { return c.state == connOpen && c.holds == 0 }

// Need makes the server call Data only when n bytes or more are there, unread ones included. It is for a handler that
// knows how long a message is: it saves calls, and the bytes are put together in one step. It is called inside Data,
// and holds until the next one. More than Config.MaxUnread ends the connection with [ErrUnread].
func (c *Conn) Need(n int) {
	c.assertOnThread("Need")
	if n > c.w.cfg.MaxUnread {
		c.finish(ErrUnread)
	}
	if c.state == connOpen {
		c.input().need = n
	}
}

// Seen returns how many of the bytes that Data gets it got before: a search for a delimiter can begin there. It is
// called inside Data.
func (c *Conn) Seen() int { return c.w.leased.seen }

// take presents what was received, behind the rest.
func (c *Conn) take(p piece) {
	b, borrowed := p.b, false
	c.w.leased.now = p
	for len(b) != 0 && c.reads() && c.in != nil && len(c.in.rest) != 0 {
		b = c.join(b)
	}
	seen := 0
	if c.in == nil || len(c.in.rest) == 0 {
		b, seen, borrowed = c.present(b, 0)
	}
	c.w.leased.now = piece{}
	c.keep(p, b, seen, borrowed)
	c.trimInput()
}

// present calls Data with b as long as it uses some. It returns what is left, how much of that Data has seen, and
// whether b has to be held because it is being sent.
func (c *Conn) present(b []byte, seen int) (rest []byte, seenOfRest int, borrowed bool) {
	for len(b) != 0 && c.reads() {
		if c.in != nil {
			if len(b) < c.in.need {
				break
			}
			c.in.need = 0
		}
		c.w.leased.seen = seen
		used, out, err := c.callData(slices.Clip(b))
		borrowed = c.emit(out, b) || borrowed
		b = b[used:]
		seen = len(b)
		if err != nil {
			c.finish(err)
		}
		if used == 0 {
			break
		}
	}
	return b, seen, borrowed
}

// joinLeast is the least that is joined.
const joinLeast = 2 << 10

// join puts as much of b behind the rest as may complete a message, and presents that. It returns what is left of b.
// So what follows a message in b is not copied.
func (c *Conn) join(b []byte) []byte {
	in, w := c.in, c.w
	old := len(in.rest)
	n := max(old, joinLeast)
	if in.need > old {
		n = in.need - old
	}
	n = min(n, len(b))
	c.append(b[:n])
	if len(in.rest) < in.need {
		return b[n:]
	}
	held := *in
	in.rest, in.buf = nil, nil
	w.leased.rest = held.buf
	left, seen, borrowed := c.present(held.rest, in.seen)
	w.leased.rest = nil
	used := len(held.rest) - len(left)
	if used != 0 && c.in != nil {
		w.unread.end(&c.in.unread)
	}
	switch {
	case used >= old && b != nil, len(left) == 0, c.state != connOpen:
		c.letGo(reactor.Lease{}, held.buf, borrowed)
		return b[min(max(used-old, 0), len(b)):]
	case borrowed:
		c.append(left)
		c.letGo(reactor.Lease{}, held.buf, true)
	default:
		in.rest, in.buf = left, held.buf
	}
	c.kept(seen)
	return b[n:]
}

// keep keeps what is left of a piece as the rest, and its buffer if it is worth it.
func (c *Conn) keep(p piece, b []byte, seen int, borrowed bool) {
	if len(b) == 0 || c.state != connOpen {
		c.letGo(p.lease, p.buf, borrowed)
		return
	}
	if in := c.input(); len(in.rest) == 0 && !borrowed && p.buf != nil && len(b) > cap(p.buf)/4 {
		in.rest, in.buf = b, p.buf
	} else {
		c.append(b)
		c.letGo(p.lease, p.buf, borrowed)
	}
	c.kept(seen)
}

// kept begins the read deadline for bytes that are left as the rest, and bounds them.
func (c *Conn) kept(seen int) {
	in := c.in
	in.seen = seen
	if !c.reads() {
		return
	}
	c.w.unread.begin(&in.unread)
	if len(in.rest) > c.w.cfg.MaxUnread {
		c.finish(ErrUnread)
	}
}

// append puts a copy of b behind the rest.
func (c *Conn) append(b []byte) {
	in, w := c.in, c.w
	n := len(in.rest) + len(b)
	if in.rest != nil && n <= cap(in.rest) {
		in.rest = append(in.rest, b...)
		return
	}
	if n > 1<<maxClass {
		n = max(n, 2*len(in.rest))
	}
	buf := w.buffers.get(max(n, in.need))
	buf = append(append(buf, in.rest...), b...)
	c.letGoRest()
	in.rest, in.buf = buf, buf
}

// letGoRest frees what holds the rest.
func (c *Conn) letGoRest() {
	in := c.in
	c.letGo(reactor.Lease{}, in.buf, false)
	in.rest, in.buf = nil, nil
}

// letGo frees a lease and a buffer; if they are borrowed, when what was queued so far has been sent.
func (c *Conn) letGo(lease reactor.Lease, buf []byte, borrowed bool) {
	p := piece{lease: lease, buf: buf}
	if !borrowed || c.out == nil {
		c.free(&p)
		return
	}
	last := &c.out.pieces[len(c.out.pieces)-1]
	if last.buf != nil || last.lease.Len() != 0 {
		c.out.pieces = append(c.out.pieces, p)
		return
	}
	last.lease, last.buf = lease, buf
}

// readOn presents what has arrived while the connection was not read from, and then EOF.
func (c *Conn) readOn() {
	if in := c.in; in != nil && in.seen < len(in.rest) && c.reads() {
		c.join(nil)
	}
	eof := c.eof
	if c.tls != nil {
		eof = c.tls.decrypt()
	}
	for c.tls == nil && c.reads() && c.in != nil && len(c.in.queue) != 0 {
		q := c.in.queue
		lease := q[0]
		c.in.queue = append(q[:0], q[1:]...)
		c.take(piece{b: lease.Bytes(), lease: lease})
	}
	c.trimInput()
	if eof && c.reads() {
		if c.in != nil && len(c.in.rest) != 0 {
			c.finish(io.ErrUnexpectedEOF)
		} else {
			c.finish(nil)
		}
	}
}

// trimInput gives the input back if nothing is in it.
func (c *Conn) trimInput() {
	if in := c.in; in != nil && len(in.rest) == 0 && len(in.queue) == 0 && in.need == 0 {
		c.dropInput()
	}
}

// dropInput drops what is unread.
func (c *Conn) dropInput() {
	in := c.in
	if in == nil {
		return
	}
	c.letGoRest()
	for _, lease := range in.queue {
		c.giveBack(lease)
	}
	c.w.unread.end(&in.unread)
	*in = input{queue: in.queue[:0]}
	c.in = nil
	c.w.inputs.put(in)
}

// takeBack frees the memory that Data had when it ended the goroutine.
func (c *Conn) takeBack() {
	l := &c.w.leased
	c.free(&l.now)
	c.free(&piece{buf: l.rest})
	*l = leased{}
}
