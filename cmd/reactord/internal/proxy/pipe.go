package proxy

import (
	"errors"
	"syscall"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// pipe is one direction of a connection. It is the receiver of what its source sends: leases of the
// loop's buffers, which it sends on as they are. While nothing is under way it has no more than the
// receive operation.
type pipe struct {
	conn  *conn
	recv  reactor.RecvManyOp
	out   *transfer // lent while bytes are under way
	bytes uint64
	from  uint8
	state pipeState
	bulk  uint8 // items in a row that were
}

type pipeState uint8

const (
	pipeOpen   pipeState = iota
	pipeEnded            // the source has sent its end
	pipeDone             // the end was passed on
	pipeBroken           // the receiver is gone; nothing more is taken from the source
)

// adaptiveBuffer is how many bytes must be allowed to wait for bulk to be received into large buffers, of which
// one is more.
const adaptiveBuffer = 64 << 10

// start begins to receive from a side. The window of the receive bounds the bytes that wait.
func (p *pipe) start(c *conn, from int) {
	p.conn, p.from = c, uint8(from)
	buffer := c.listener.backend.Buffer
	many := p.source().RecvMany(max(buffer/c.loop().Buffers().Size(), 1))
	if buffer >= adaptiveBuffer {
		many = many.Adaptive()
	}
	many.Connect(&p.recv, p)
	p.recv.Start()
}

func (p *pipe) source() *reactor.Socket { return &p.conn.sockets[p.from] }

func (p *pipe) target() *reactor.Socket { return &p.conn.sockets[1-p.from] }

// SetNext takes what was received.
func (p *pipe) SetNext(lease reactor.Lease) {
	c := p.conn
	if c.phase != phaseFlowing || p.state != pipeOpen {
		lease.Release()
		return
	}
	c.touch()
	n := uint64(lease.Len())
	p.bytes += n
	c.listener.stats.bytes[p.from].Add(n)
	if p.bulk = min(p.bulk+1, spliceSigns); !isBulk(lease.Credits()) {
		p.bulk = 0
	}
	t := p.out
	if t == nil {
		t = c.worker().transfers.get()
		t.begin(p)
		p.out = t
	}
	t.push(lease)
}

// SetValue says that the source has ended, or so it seems.
func (p *pipe) SetValue(struct{}) {
	if p.conn.phase != phaseFlowing || p.state != pipeOpen {
		return
	}
	if p.wasReset() {
		p.conn.sideReset(int(p.from))
		return
	}
	if p.conn.cut&(1<<p.from) != 0 {
		p.conn.sideReset(int(p.from)) // the send was told of the reset, so this is all that is left of it
		return
	}
	p.state = pipeEnded
	p.conn.watchFor(int(p.from))
	if p.out == nil {
		p.end()
	}
}

// wasReset tells a reset from an end. The kernel tells a reset once: after a send has been told, a
// receive is told the end. It counts an end (FIN) as a byte received, and a reset not. See tcp(7),
// TCP_INFO.
func (p *pipe) wasReset() bool {
	back := &p.conn.pipes[1-p.from]
	if !back.underWay() && back.state != pipeBroken {
		return false // no send can have been told
	}
	info, err := p.source().TCPInfo()
	return err == nil && info.State == tcpClose && info.Bytes_received <= p.bytes
}

// tcpClose is the kernel's TCP_CLOSE: the state of a connection that was reset.
const tcpClose = 7

// end passes the end on.
func (p *pipe) end() {
	p.state = pipeDone
	if p.target().CloseWrite() != nil {
		p.state = pipeBroken
	}
	p.conn.finished()
}

// SetError says that the source is gone.
func (p *pipe) SetError(error) {
	if c := p.conn; c.phase == phaseFlowing {
		c.sideReset(int(p.from))
	}
}

// SetStopped says that the loop is ending.
func (p *pipe) SetStopped() { p.conn.close(endKilled, abortBoth) }

// Env is empty.
func (p *pipe) Env() sender.Env { return sender.EmptyEnv{} }

// underWay: bytes were received and not sent yet.
func (p *pipe) underWay() bool {
	t := p.out
	return t != nil && (t.spliced == nil || t.spliced.tube.Held() != 0)
}

// drained is called when everything received has been sent.
func (p *pipe) drained() {
	switch c := p.giveBack(); {
	case c.phase == phaseResetting:
		c.tryReset()
	case c.phase == phaseFlowing && p.state == pipeEnded:
		p.end()
	}
}

// failed is called when the target takes no more. Nothing is done to the source: what it is still to
// be sent goes on, and its own receive tells how the connection ends. But a reset is told once only: if
// err is one, the target's receive will speak of an end. (EPIPE is a reset behind an end: that end is one.)
func (p *pipe) failed(err error) {
	switch c := p.giveBack(); c.phase {
	case phaseResetting:
		c.tryReset()
	case phaseFlowing:
		p.state = pipeBroken
		if errors.Is(err, syscall.ECONNRESET) {
			c.cut |= 1 << (1 - p.from)
		}
		c.finished()
	}
}

func (p *pipe) giveBack() *conn {
	w := p.conn.worker()
	p.out.end(w)
	w.transfers.keep(p.out)
	p.out = nil
	return p.conn
}

// transfer is the bytes of a pipe that are under way, and the operation that sends them: one at a time,
// all that is there with each.
type transfer struct {
	pipe    *pipe
	send    reactor.SendvOp
	queue   []reactor.Lease
	flying  int     // the first of queue, being sent
	bytes   int     // in those
	spliced *splice // what moves them instead, if any
}

func (t *transfer) begin(p *pipe) {
	t.pipe = p
	p.target().Sendv(nil).Connect(&t.send, t)
}

// end forgets the pipe, and keeps the memory of the lists.
func (t *transfer) end(w *worker) {
	t.pipe = nil
	w.nowhere.Sendv(nil).Connect(&t.send, t)
}

// push takes a lease, and sends it unless a send is under way.
func (t *transfer) push(lease reactor.Lease) {
	if last := len(t.queue) - 1; last >= t.flying {
		// Small pieces share a buffer, so that many of them do not hold a whole one each.
		tail := &t.queue[last]
		if worth := tail.Credits() + lease.Credits(); tail.Append(lease.Bytes()) {
			lease.Release()
			t.pipe.recv.Grant(worth - tail.Credits())
			return
		}
	}
	t.queue = append(t.queue, lease)
	if t.flying == 0 {
		t.flush()
	}
}

// maxPieces is how many pieces one send takes (IOV_MAX).
const maxPieces = 1024

// flush sends everything that waits, as far as one send takes it.
func (t *transfer) flush() {
	t.flying, t.bytes = min(len(t.queue), maxPieces), 0
	t.send.Reset()
	for _, lease := range t.queue[:t.flying] {
		t.send.Add(lease.Bytes())
		t.bytes += lease.Len()
	}
	t.send.Start()
}

// SetValue says that what was flying has been sent; or a part of it, the connection or the loop ending.
func (t *transfer) SetValue(sent int) {
	c := t.pipe.conn
	if c.phase == phaseClosing || sent < t.bytes {
		t.SetStopped()
		return
	}
	worth := 0
	for _, lease := range t.queue[:t.flying] {
		worth += lease.Credits()
	}
	t.release(t.flying)
	c.touch()
	if len(t.queue) == 0 && t.splice(worth) {
		return
	}
	t.pipe.recv.Grant(worth)
	if len(t.queue) != 0 {
		t.flush()
	} else {
		t.pipe.drained()
	}
}

// release gives back the first n leases.
func (t *transfer) release(n int) {
	for _, lease := range t.queue[:n] {
		lease.Release()
	}
	t.queue = append(t.queue[:0], t.queue[n:]...)
	t.flying = 0
}

// SetError says that the target takes no more.
func (t *transfer) SetError(err error) {
	t.release(len(t.queue))
	t.pipe.failed(err)
}

// SetStopped says that the connection or the loop is ending.
func (t *transfer) SetStopped() {
	t.release(len(t.queue))
	t.pipe.failed(nil)
}

// Env is empty.
func (t *transfer) Env() sender.Env { return sender.EmptyEnv{} }
