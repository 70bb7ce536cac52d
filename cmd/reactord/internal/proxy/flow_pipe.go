package proxy

import (
	"errors"
	"syscall"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// pipeState is the state of a direction, from one side (src) to the other (dst):
//
//	open        → eof         SetValue: src has sent EOF
//	eof         → halfClosed  passEOF: everything was sent, and EOF behind it
//	open or eof → broken      failed: dst takes no more bytes
type pipeState uint8

const (
	pipeOpen       pipeState = iota
	pipeEOF                  // src has sent EOF; bytes before it may be in flight
	pipeHalfClosed           // EOF was passed on
	pipeBroken               // dst takes no more; further bytes of src are dropped
)

// ended reports whether nothing more is sent to dst.
func (s pipeState) ended() bool { return s == pipeHalfClosed || s == pipeBroken }

// regime is the way in which the bytes of a direction are moved. pipe.regime decides; between small and large items the
// receive decides by itself, and the pipe learns it from the credits of an item.
type regime uint8

const (
	regimeSmall  regime = iota // a multishot receive leases the loop's buffers: many small items
	regimeLarge                // the receive has found bulk: it leases large buffers, one at a time
	regimeSplice               // bulk goes through a kernel pipe, or through large buffers if the loop has no pipe left
	regimeDrain                // nothing more is received; what was received is sent
)

const (
	// minAdaptive is the least Backend.Buffer with which bulk is received into large buffers. It then may be exceeded
	// by one large buffer.
	minAdaptive = 64 << 10
	// bulkItems is how many items of bulk in a row begin a splice, and how many fillings of its kernel pipe in a row
	// that are not bulk end it.
	bulkItems = 4
)

// isBulk reports whether an item needs a large buffer, by its credits. After such an item the receive waits until all
// credits of the item are granted again. See [reactor.RecvManySender.Adaptive].
func isBulk(credits int) bool { return credits > 2 }

// regime decides how the bytes of p are moved from now on.
func (p *pipe) regime() regime {
	switch splicing := p.out != nil && p.out.splice != nil; {
	case p.conn.phase != phaseFlowing || p.state != pipeOpen:
		return regimeDrain
	case p.bulk == bulkItems, splicing && p.bulk > 0:
		return regimeSplice
	case p.bulk > 0:
		return regimeLarge
	}
	return regimeSmall
}

// itemReceived counts an item as bulk or not, by its credits.
func (p *pipe) itemReceived(credits int) {
	if isBulk(credits) {
		p.bulk = min(p.bulk+1, bulkItems)
	} else {
		p.bulk = 0
	}
}

// filled counts a filling of a splice's kernel pipe as bulk or not, by the credits that it would take.
func (p *pipe) filled(credits int) {
	if isBulk(credits) {
		p.bulk = bulkItems
	} else {
		p.bulk--
	}
}

// pipe is one direction of a connection. It is the receiver of the bytes of the sending side (src), which come as
// leases of the loop's buffers, and sends them from these buffers to dst. Bytes are copied only if they arrive while a
// send is in flight and fit into the last lease that waits behind it: see transfer.push. While no bytes are in flight,
// a pipe consists of the receive operation only.
type pipe struct {
	conn     *conn
	recv     reactor.RecvManyOp
	out      *transfer // while bytes are in flight
	throttle *throttle // if the bytes are limited
	bytes    uint64    // received
	skipped  uint32    // bytes received before, which were for the proxy itself
	from     uint8
	state    pipeState
	bulk     uint8 // evidence of bulk: 0 to bulkItems
	held     bool  // nothing is received until what was left from before the rest is sent
}

// start begins to receive from a side. The credits of the receive bound the bytes in flight.
func (p *pipe) start(c *conn, from int) {
	p.conn, p.from, p.held = c, uint8(from), false
	p.receive().Connect(&p.recv, p)
	p.recv.Start()
}

func (p *pipe) receive() reactor.RecvManySender {
	c := p.conn
	buffer := int(c.config.Buffer)
	credits := max(buffer/c.loop().Buffers().Size(), 1)
	if p.throttle != nil {
		return p.src().RecvMany(p.limitedCredits(credits))
	}
	many := p.src().RecvMany(credits)
	if buffer >= minAdaptive {
		many = many.Adaptive()
	}
	return many
}

func (p *pipe) src() *reactor.Socket { return &p.conn.sockets[p.from] }

func (p *pipe) dst() *reactor.Socket { return &p.conn.sockets[1-p.from] }

// moved counts bytes taken from src.
func (p *pipe) moved(n int) {
	p.conn.touch()
	p.conn.count(int(p.from), n)
	if p.throttle != nil {
		p.throttle.received(n)
	}
}

// count counts bytes of a side.
func (c *conn) count(side, n int) {
	if side == server && c.pipes[server].bytes == 0 {
		c.firstByte(c.loop().Now())
	}
	c.lastFrom = uint8(side)
	c.pipes[side].bytes += uint64(n)
	c.listener.traffic.bytes[side].Add(uint64(n))
}

// SetNext takes what was received.
func (p *pipe) SetNext(lease reactor.Lease) {
	if p.regime() == regimeDrain {
		lease.Release()
		return
	}
	p.moved(lease.Len())
	p.itemReceived(lease.Credits())
	if p.out == nil {
		p.out = p.conn.worker().transfers.Get()
		p.out.begin(p)
	}
	p.out.push(lease)
}

// SetValue passes on EOF, which may turn out to be a reset.
func (p *pipe) SetValue(struct{}) {
	switch {
	case p.regime() == regimeDrain:
	case p.conn.rests(): // it is found again
	case p.eofIsReset():
		p.conn.sideReset(int(p.from))
	default:
		p.state = pipeEOF
		p.conn.watchForReset(int(p.from))
		if p.out == nil {
			p.passEOF()
		}
	}
}

// passEOF shuts down the write side of dst.
func (p *pipe) passEOF() {
	p.state = pipeHalfClosed
	if p.dst().CloseWrite() != nil {
		p.state = pipeBroken
	}
	p.conn.directionEnded()
}

// SetError ends the direction: src was reset.
func (p *pipe) SetError(err error) {
	if c := p.conn; c.phase == phaseFlowing {
		if errors.Is(err, syscall.ECONNRESET) {
			c.sides[p.from] = sideClosed
		}
		c.sideReset(int(p.from))
	}
}

// SetStopped ends the connection, unless it rests: the loop is stopping.
func (p *pipe) SetStopped() {
	if !p.conn.rests() {
		p.conn.close(reasonKilled, bothSides)
	}
}

// Env returns an empty environment.
func (p *pipe) Env() sender.Env { return sender.EmptyEnv{} }

// inFlight reports whether there are bytes that were received and not sent yet.
func (p *pipe) inFlight() bool {
	if h := p.conn.leaving; h != nil && h.rest[p.from].some() {
		return true
	}
	if s := p.conn.tls; s != nil {
		return s.relays[p.from] != nil
	}
	t := p.out
	return t != nil && (t.splice == nil || t.splice.tube.Held() != 0)
}

// drained passes on EOF or a reset behind the bytes, which have all been sent.
func (p *pipe) drained() {
	switch c := p.releaseTransfer(); {
	case c.phase == phaseDraining:
		c.tryReset()
	case c.phase == phaseFlowing && p.state == pipeEOF:
		p.passEOF()
	}
}

// failed ends the direction, because dst takes no more bytes. It leaves src alone: bytes to it still flow, and its own
// receive reports how the connection ends. (EPIPE: dst was reset after it had sent EOF. That EOF counts.)
func (p *pipe) failed(err error) {
	p.releaseTransfer()
	p.broke(err)
}

func (p *pipe) broke(err error) {
	switch c := p.conn; c.phase {
	case phaseDraining:
		c.tryReset()
	case phaseFlowing:
		p.state = pipeBroken
		if errors.Is(err, syscall.ECONNRESET) {
			c.sawReset(int(1 - p.from))
		}
		c.directionEnded()
	}
}

func (p *pipe) releaseTransfer() *conn {
	w := p.conn.worker()
	p.out.end(w)
	w.transfers.Keep(p.out)
	p.out = nil
	return p.conn
}

// dropStopped drops the bytes of a direction of which nothing is in flight, because the connection rests.
func (p *pipe) dropStopped() {
	t := p.out
	if t == nil || !t.stopped {
		return
	}
	if t.splice != nil {
		t.splice.end()
	}
	t.release(len(t.queue))
	p.releaseTransfer()
}

// grant grants credits to the receive of a direction when the limits allow it.
func (p *pipe) grant(credits int) {
	if p.throttle == nil {
		p.receiveMore(credits)
	} else {
		p.throttle.grant(credits)
	}
}

// receiveMore grants credits to the receive of a direction; or begins it, if that is to wait for nothing more.
func (p *pipe) receiveMore(credits int) {
	switch {
	case !p.held:
		if credits != 0 {
			p.recv.Grant(credits)
		}
	case !p.conn.rests() && !p.out.sendsRest() && (p.throttle == nil || !p.throttle.waits):
		p.begin()
	}
}

// begin begins to receive from the side.
func (p *pipe) begin() {
	if p.conn.tls != nil {
		p.startSecure(p.conn, int(p.from))
	} else {
		p.start(p.conn, int(p.from))
	}
}
