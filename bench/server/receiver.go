package server

import (
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// credit is the number of leases that a connection may hold. Then it receives no more until it has sent some.
const credit = 16

// conn is a connection with its operation states, in one allocation. Pieces to send are queued. The whole queue is sent
// by one operation, and meanwhile new pieces are queued.
type conn struct {
	s       *listener
	socket  reactor.Socket
	recv    reactor.RecvManyOp
	send    reactor.SendvOp
	closing reactor.CloseOp
	timer   reactor.Timer // of the first piece that is not due

	queue   []piece
	sending int   // the number of pieces, from the first, that are being sent
	owed    int   // received bytes of an incomplete request
	at      int64 // place in the pattern
	ended   bool  // EOF, or an error: nothing more will be received
	closed  bool
}

// piece is something to send: a lease, or bytes that do not change.
type piece struct {
	lease reactor.Lease
	bytes []byte
	due   int64 // on the loop's clock; 0: immediately
}

func newConn(s *listener, fd int) {
	c := &conn{s: s}
	c.timer.Init(c)
	c.socket.Init(s.loop, fd)
	_ = c.socket.SetNoDelay(true) // a unix socket has no such option
	c.socket.Sendv(nil).Connect(&c.send, (*sent)(c))
	c.socket.RecvMany(credit).Connect(&c.recv, (*received)(c))
	c.recv.Start()
	c.flush()
}

// flush sends the pieces that are due.
func (c *conn) flush() {
	if c.sending > 0 || c.closed {
		return
	}
	if c.s.pattern != nil && len(c.queue) == 0 && !c.ended {
		c.queue = append(c.queue, piece{bytes: c.s.pattern.At(c.at, chunk)})
		c.at += chunk
	}
	c.send.Reset()
	for _, p := range c.queue {
		if p.due > c.s.loop.Clock() {
			c.s.loop.SetTimer(&c.timer, p.due)
			break
		}
		c.send.Add(p.bytes)
		c.sending++
	}
	switch {
	case c.sending > 0:
		c.send.Start()
	case c.ended && len(c.queue) == 0:
		c.close()
	}
}

// OnTimer is called when the first piece is due.
func (c *conn) OnTimer(int64) { c.flush() }

// drop removes the first n pieces, and returns how many of them were leases.
func (c *conn) drop(n int) (leases int) {
	for _, p := range c.queue[:n] {
		if p.lease.Len() > 0 {
			p.lease.Release()
			leases++
		}
	}
	c.queue = append(c.queue[:0], c.queue[n:]...)
	return leases
}

func (c *conn) close() {
	if c.closed {
		return
	}
	c.closed = true
	c.s.loop.StopTimer(&c.timer)
	c.socket.Close().Connect(&c.closing, sender.Discard[struct{}]{})
	c.closing.Start()
}

// fail is called after an error of the connection.
func (c *conn) fail() {
	c.sending = 0
	c.drop(len(c.queue))
	c.close()
}

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
		c.queue = append(c.queue, piece{lease: lease, bytes: lease.Bytes()})
	case cfg.Behaviour == "delay":
		c.queue = append(c.queue, piece{lease: lease, bytes: lease.Bytes(), due: c.s.loop.Clock() + int64(cfg.Delay)})
	default:
		c.owed += lease.Len()
		lease.Release()
		c.recv.Grant(1)
		for ; c.s.answer != nil && c.owed >= cfg.Request; c.owed -= cfg.Request {
			c.queue = append(c.queue, piece{bytes: c.s.answer})
		}
	}
	c.flush()
}

func (r *received) SetValue(struct{}) { (*conn)(r).end() }
func (r *received) SetError(error)    { (*conn)(r).end() }
func (r *received) SetStopped()       { (*conn)(r).end() }
func (r *received) Env() sender.Env   { return sender.EmptyEnv{} }

// end is called when nothing more will be received. The queue is still sent.
func (c *conn) end() {
	c.ended = true
	c.flush()
}

// sent is a conn as the receiver of its sends.
type sent conn

func (s *sent) SetValue(int) {
	c := (*conn)(s)
	n := c.sending
	c.sending = 0
	if leases := c.drop(n); leases > 0 && !c.ended {
		c.recv.Grant(leases)
	}
	c.flush()
}

func (s *sent) SetError(error)  { (*conn)(s).fail() }
func (s *sent) SetStopped()     { (*conn)(s).fail() }
func (s *sent) Env() sender.Env { return sender.EmptyEnv{} }
