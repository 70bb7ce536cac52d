//go:build linux

package server

import (
	"net"
	"slices"
	"unsafe"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

const (
	maxSend   = 128 << 10 // bytes of one send, so that its completion is progress
	maxPieces = 1024      // of one send (IOV_MAX)
)

// output holds what a connection has to send: pieces in order. One send is in flight at a time, of as many pieces as it
// takes; further ones are queued behind them, and leave with the next send.
type output struct {
	conn    *Conn
	send    reactor.SendvOp
	pieces  []piece
	flying  int    // pieces, from the first, that are being sent, the last one perhaps in part
	sending int    // bytes that are being sent
	unsent  int    // bytes of all pieces, and of plain
	plain   []byte // to be encrypted, behind the pieces; a buffer of the pool
	room    int    // bytes that are about to be queued
	stamp   stamp
}

// piece is a piece of memory to send. It holds the lease, or the buffer, that it was the last one to use.
type piece struct {
	b     []byte
	buf   []byte
	lease reactor.Lease
}

func outputOwner(s *stamp) *output {
	return (*output)(unsafe.Add(unsafe.Pointer(s), -int(unsafe.Offsetof(output{}.stamp))))
}

// Write sends a copy of p, with all else that the connection has to send in this turn of the loop. It never blocks and
// takes all of p: see [Conn.Unsent]. The error is net.ErrClosed if the connection is not open.
func (c *Conn) Write(p []byte) (int, error) {
	c.assertOnThread("Write")
	if c.state != connOpen {
		return 0, net.ErrClosed
	}
	c.copyOut(p)
	c.w.mark(c)
	return len(p), nil
}

// Unsent returns how many bytes the socket has not taken yet, including those written in this turn of the loop. While
// it is more than Config.HighWater the connection is not read from; but writes are taken: a handler that writes without
// being asked should look.
func (c *Conn) Unsent() int {
	if c.out == nil {
		return 0
	}
	return c.out.unsent
}

// output returns the connection's output, taking one from the pool if needed.
func (c *Conn) output() *output {
	if c.out == nil {
		o := c.w.outputs.get()
		o.conn = c
		c.socket.Sendv(nil).Connect(&o.send, o)
		c.out = o
	}
	return c.out
}

// copyOut queues a copy of b, which TLS encrypts.
func (c *Conn) copyOut(b []byte) {
	switch {
	case len(b) == 0:
	case c.tls != nil:
		c.tls.write(b)
	default:
		c.queueCopy(b)
	}
}

// queueCopy queues a copy of b as it is, in the buffer of the last piece if there is room.
func (c *Conn) queueCopy(b []byte) {
	o := c.output()
	if last := len(o.pieces) - 1; last >= o.flying {
		p := &o.pieces[last]
		if p.buf != nil && len(b) <= cap(p.b)-len(p.b) {
			p.b = append(p.b, b...)
			o.added(len(b))
			return
		}
	}
	buf := append(c.w.buffers.get(max(len(b), o.room)), b...)
	o.push(piece{b: buf, buf: buf})
}

// push queues a piece.
func (o *output) push(p piece) {
	o.pieces = append(o.pieces, p)
	o.added(len(p.b))
}

func (o *output) added(n int) {
	o.unsent += n
	if c := o.conn; o.unsent > c.w.cfg.HighWater && c.state == connOpen {
		c.hold(holdUnsent)
	}
}

// emit queues what Data has returned. It reports whether that is in the memory of in, which is to be held then until
// it has been sent: see borrow.
func (c *Conn) emit(out, in []byte) (borrowed bool) {
	w := c.w
	if len(out) == 0 || c.state >= connClosing {
		return false
	}
	c.w.mark(c)
	switch {
	case c.tls == nil && len(out) > smallPiece && within(out, in):
		c.output().push(piece{b: slices.Clip(out)}) // an earlier piece may have what is behind it
		return true
	case c.tls == nil && unsafe.SliceData(out) == unsafe.SliceData(w.scratch) && len(out) >= cap(w.scratch)/2:
		c.output().push(piece{b: out, buf: w.scratch})
		w.scratch = w.buffers.get(cap(w.scratch))
	default:
		c.copyOut(out)
		if n := cap(out); n > cap(w.scratch) && n <= 1<<maxClass && !within(out, in) {
			w.buffers.put(w.scratch)
			w.scratch = w.buffers.get(n) // the next one will fit
		}
	}
	return false
}

// within reports whether a is in the memory of b.
func within(a, b []byte) bool {
	off := uintptr(unsafe.Pointer(unsafe.SliceData(a))) - uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return off < uintptr(len(b))
}

// flush sends what is queued, unless a send is in flight.
func (c *Conn) flush() {
	if c.state >= connLingering {
		return
	}
	if c.tls != nil && (c.out == nil || c.out.flying == 0) {
		c.tls.seal()
	}
	o := c.out
	if o == nil {
		c.flushed()
		return
	}
	if o.flying != 0 {
		return
	}
	o.send.Reset()
	for i := range o.pieces {
		b := o.pieces[i].b
		if room := maxSend - o.sending; len(b) > room {
			b = b[:room]
		}
		o.send.Add(b)
		o.flying++
		if o.sending += len(b); o.sending == maxSend || o.flying == maxPieces {
			break
		}
	}
	c.w.unsent.begin(&o.stamp)
	o.send.Start()
}

// SetValue takes the number of bytes that were sent: fewer than all if the connection or the loop is being closed.
func (o *output) SetValue(n int) {
	c := o.conn
	short := n < o.sending
	o.flying, o.sending = 0, 0
	c.w.unsent.end(&o.stamp)
	if short || c.state >= connClosing {
		o.lost(net.ErrClosed)
		return
	}
	c.touch()
	o.advance(n)
	if len(o.pieces) == 0 && len(o.plain) == 0 {
		o.release()
	}
	c.flush()
	if c.holds&holdUnsent != 0 && c.Unsent() <= c.w.cfg.HighWater/2 {
		c.release(holdUnsent)
		if _, ok := c.w.handler.(WritableHandler); ok && c.state == connOpen {
			c.w.guard(c, callWritable)
		}
	}
}

// advance removes n bytes that were sent.
func (o *output) advance(n int) {
	o.unsent -= n
	done := 0
	for done < len(o.pieces) && n >= len(o.pieces[done].b) {
		n -= len(o.pieces[done].b)
		o.conn.free(&o.pieces[done])
		done++
	}
	if n > 0 {
		o.pieces[done].b = o.pieces[done].b[n:]
	}
	rest := copy(o.pieces, o.pieces[done:])
	clear(o.pieces[rest:])
	o.pieces = o.pieces[:rest]
}

// free frees what a piece holds.
func (c *Conn) free(p *piece) {
	if p.lease.Len() != 0 {
		c.giveBack(p.lease)
	}
	if p.buf != nil {
		c.w.buffers.put(p.buf)
	}
}

// SetError closes the connection, whose socket takes no more bytes.
func (o *output) SetError(err error) {
	o.flying, o.sending = 0, 0
	o.lost(err)
}

// SetStopped closes the connection, because the loop stops.
func (o *output) SetStopped() { o.SetError(net.ErrClosed) }

// Env returns an empty environment.
func (o *output) Env() sender.Env { return sender.EmptyEnv{} }

// lost drops the output, of which nothing more can be sent, and closes the connection.
func (o *output) lost(err error) {
	c := o.conn
	o.release()
	c.abort(err)
}

// drop forgets what is not being sent, because the connection is closed.
func (o *output) drop() {
	if o.flying == 0 {
		o.release()
	}
}

// release frees everything, and gives the output back.
func (o *output) release() {
	c, w := o.conn, o.conn.w
	w.unsent.end(&o.stamp)
	for i := range o.pieces {
		c.free(&o.pieces[i])
	}
	clear(o.pieces)
	if o.pieces = o.pieces[:0]; cap(o.pieces) > maxPieces {
		o.pieces = nil
	}
	w.buffers.put(o.plain)
	o.flying, o.sending, o.unsent, o.plain, o.conn, c.out = 0, 0, 0, nil, nil, nil
	w.noSocket.Sendv(nil).Connect(&o.send, o)
	w.outputs.put(o)
}
