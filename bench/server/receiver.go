package server

import (
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// credit is the number of leases that a connection may hold. Then it receives no more until it has sent some.
const credit = 16

// conn is a connection with what it needs while it is idle. The rest is its output.
type conn struct {
	s      *listener
	socket reactor.Socket
	recv   reactor.RecvManyOp
	out    *output // nil if there is nothing to send

	owed   int32 // received bytes of an incomplete request
	ended  bool  // EOF, or an error: nothing more will be received
	closed bool
}

// output is the state of a connection while it sends or closes. The listener keeps the free ones. Pieces to send are
// queued. The whole queue is sent by one operation, and meanwhile new pieces are queued.
type output struct {
	c       *conn
	next    *output // in the list of free ones
	send    reactor.SendvOp
	closing reactor.CloseOp
	timer   reactor.Timer // of the first piece that is not due
	queue   []piece
	sending int   // the number of pieces, from the first, that are being sent
	at      int64 // place in the pattern
}

// output returns the connection's output, and takes or makes one if it has none.
func (c *conn) output() *output {
	o := c.out
	if o != nil {
		return o
	}
	if o = c.s.free; o != nil {
		c.s.free, o.next = o.next, nil
	} else {
		o = new(output)
		o.timer.Init(o)
	}
	o.c, c.out = c, o
	c.socket.Sendv(nil).Connect(&o.send, o)
	return o
}

// free gives the output back when it has nothing to do.
func (o *output) free() {
	c := o.c
	o.c, c.out, o.at = nil, nil, 0
	o.next, c.s.free = c.s.free, o
}

// piece is something to send: a lease, or bytes that do not change.
type piece struct {
	lease reactor.Lease
	bytes []byte
	due   int64 // on the loop's clock; 0: immediately
}

func newConn(s *listener, fd int) {
	c := &conn{s: s}
	c.socket.Init(s.loop, fd)
	_ = c.socket.SetNoDelay(true) // a unix socket has no such option
	c.socket.RecvMany(credit).Connect(&c.recv, (*received)(c))
	c.recv.Start()
	c.flush()
}

// enqueue adds a piece that is to be sent.
func (c *conn) enqueue(p piece) {
	o := c.output()
	o.queue = append(o.queue, p)
}

// flush sends the pieces that are due.
func (c *conn) flush() {
	if c.out != nil && c.out.sending > 0 || c.closed {
		return
	}
	if c.s.pattern != nil && c.queued() == 0 && !c.ended {
		o := c.output() // for as long as the connection is open
		o.queue = append(o.queue, piece{bytes: c.s.pattern.At(o.at, chunk)})
		o.at += chunk
	}
	switch {
	case c.queued() > 0:
		c.out.flush()
	case c.ended:
		c.close()
	case c.out != nil:
		c.out.free()
	}
}

func (c *conn) queued() int {
	if c.out == nil {
		return 0
	}
	return len(c.out.queue)
}

func (o *output) flush() {
	l := o.c.s.loop
	o.send.Reset()
	for _, p := range o.queue {
		if p.due != 0 && p.due > l.Clock() {
			l.SetTimer(&o.timer, p.due)
			break
		}
		o.send.Add(p.bytes)
		o.sending++
	}
	if o.sending > 0 {
		o.send.Start()
	}
}

// OnTimer sends the pieces that are due.
func (o *output) OnTimer(int64) { o.c.flush() }

// drop removes the first n pieces, and returns how many of them were leases.
func (o *output) drop(n int) (leases int) {
	for _, p := range o.queue[:n] {
		if p.lease.Len() > 0 {
			p.lease.Release()
			leases++
		}
	}
	o.queue = append(o.queue[:0], o.queue[n:]...)
	return leases
}

func (c *conn) close() {
	if c.closed {
		return
	}
	c.closed = true
	o := c.output()
	c.s.loop.StopTimer(&o.timer)
	c.socket.Close().Connect(&o.closing, (*closing)(o))
	o.closing.Start()
}

// closing is an output as the receiver of its close.
type closing output

func (o *closing) SetValue(struct{}) { (*output)(o).free() }
func (o *closing) SetError(error)    { (*output)(o).free() }
func (o *closing) SetStopped()       { (*output)(o).free() }
func (o *closing) Env() sender.Env   { return sender.EmptyEnv{} }

// received is a conn as the receiver of its RecvMany.
type received conn

func (r *received) SetNext(lease reactor.Lease) {
	c := (*conn)(r)
	cfg := c.s.cfg
	switch {
	case c.closed:
		lease.Release()
		return
	case cfg.Behaviour == "echo":
		c.enqueue(piece{lease: lease, bytes: lease.Bytes()})
	case cfg.Behaviour == "delay":
		c.enqueue(piece{lease: lease, bytes: lease.Bytes(), due: c.s.loop.Clock() + int64(cfg.Delay)})
	default:
		c.owed += int32(lease.Len())
		lease.Release()
		c.recv.Grant(1)
		for request := int32(cfg.Request); c.s.answer != nil && c.owed >= request; c.owed -= request {
			c.enqueue(piece{bytes: c.s.answer})
		}
	}
	c.flush()
}

func (r *received) SetValue(struct{}) { (*conn)(r).end() }
func (r *received) SetError(error)    { (*conn)(r).end() }
func (r *received) SetStopped()       { (*conn)(r).end() }
func (r *received) Env() sender.Env   { return sender.EmptyEnv{} }

// end ends the receiving; the queue is still sent.
func (c *conn) end() {
	c.ended = true
	c.flush()
}

// The output is the receiver of its sends.

func (o *output) SetValue(int) {
	c, n := o.c, o.sending
	o.sending = 0
	if leases := o.drop(n); leases > 0 && !c.ended {
		c.recv.Grant(leases)
	}
	c.flush()
}

func (o *output) SetError(error)  { o.fail() }
func (o *output) SetStopped()     { o.fail() }
func (o *output) Env() sender.Env { return sender.EmptyEnv{} }

// fail drops the queue after an error of the connection, and closes it.
func (o *output) fail() {
	o.sending = 0
	o.drop(len(o.queue))
	o.c.close()
}
