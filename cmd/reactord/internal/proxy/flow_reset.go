package proxy

import (
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// A reset (RST) of one side becomes a reset of the other. This file contains all that tells a reset from EOF.
//
// The kernel reports a reset once: to the receive, to a send, or to a poll, whichever is first. After a send was told,
// the receive of that socket completes with EOF. After EOF no receive is in flight that could be told.

// sideState is the state of a side with regard to resets:
//
//	present   → resetSeen  a send was told of the reset; the receive will report EOF (sawReset)
//	present   → gone       the receive, a splice or the watch was told (sideReset)
//	resetSeen → gone       what the side had sent before is received
//	present   → closed     the receive was told that the kernel has closed the socket (SetError)
type sideState uint8

const (
	sidePresent   sideState = iota
	sideResetSeen           // what the side sent before its reset is still to be received
	sideGone                // nothing can be received from it, nor sent to it
	sideClosed              // the same, and it needs no reset
)

func (s sideState) gone() bool { return s >= sideGone }

// sawReset records that a send to a side has reported its reset.
func (c *conn) sawReset(side int) { c.sides[side] = sideResetSeen }

// eofIsReset distinguishes a reset from EOF, after the receive of src has reported EOF.
func (p *pipe) eofIsReset() bool {
	if p.conn.sides[p.from] == sideResetSeen {
		return true
	}
	back := &p.conn.pipes[1-p.from]
	if !back.inFlight() && back.state != pipeBroken {
		return false // no send can have reported it
	}
	// The kernel counts EOF (FIN) as a byte received, and a reset not. See tcp(7), TCP_INFO.
	info, err := p.src().TCPInfo()
	return err == nil && info.State == tcpClose && info.Bytes_received <= p.received()
}

// received returns the number of bytes that were received from the socket of src.
func (p *pipe) received() uint64 {
	if s := p.conn.tls; s != nil {
		return s.sides[p.from].received + uint64(p.skipped)
	}
	return p.bytes + uint64(p.skipped)
}

// tcpClose is the kernel's TCP_CLOSE: the state of a TCP connection that was reset.
const tcpClose = 7

// acknowledged returns how many bytes the peers that are not gone have acknowledged so far, and whether the kernel
// holds bytes that they have not acknowledged yet. See tcp(7), TCP_INFO.
func (c *conn) acknowledged() (n uint64, holds bool) {
	for side := range c.sockets {
		if c.sides[side].gone() {
			continue
		}
		info, err := c.sockets[side].TCPInfo()
		if err != nil { // a unix socket knows only what it holds: any change of that is progress
			held, _ := c.sockets[side].Unacked()
			n -= uint64(held)
			holds = holds || held != 0
			continue
		}
		n += info.Bytes_acked
		if info.State != tcpClose {
			holds = holds || info.Unacked != 0 || info.Notsent_bytes != 0
		}
	}
	return n, holds
}

// holdsUnacked reports what acknowledged does, which takes the kernel longer than SIOCOUTQ. That is right of a socket
// which has connected; a client that sent data with its SYN may be in the middle of its handshake.
func (c *conn) holdsUnacked() bool {
	if c.sides[client].gone() && !c.sides[server].gone() {
		if held, err := c.sockets[server].Unacked(); err == nil && held == 0 {
			return false
		}
	}
	_, holds := c.acknowledged()
	return holds
}

// sideReset notes that a side is gone. A flowing connection then drains: the other side is still sent what was received
// for it.
func (c *conn) sideReset(side int) {
	c.sides[side] = max(c.sides[side], sideGone)
	if c.phase == phaseFlowing {
		c.why = reasonClientReset
		if side == server {
			c.why = reasonServerReset
		}
		c.advance(phaseDraining)
		c.restartIdleTimer()
	}
	c.tryReset()
}

// maxResetWait bounds how often the time between two attempts to reset doubles: to a second.
const maxResetWait = 10

// tryReset resets the connection if all bytes before the reset have arrived: closing with a reset drops the others.
// Else it tries again later.
func (c *conn) tryReset() {
	for side := range c.sockets {
		if !c.sides[side].gone() && c.pipes[1-side].inFlight() {
			return // the pipe calls tryReset again when it has sent everything or has failed
		}
	}
	if !c.holdsUnacked() {
		c.close(c.why, bothSides)
		return
	}
	wait := int64(time.Millisecond) << c.resetBackoff
	c.resetBackoff = min(c.resetBackoff+1, maxResetWait)
	c.setTimer(c.time() + min(wait, int64(c.patience())/idleChecks))
}

// watch waits for the reset of a side that has sent EOF. No receive would report it.
type watch struct {
	conn *conn
	poll reactor.PollManyOp
	side int
}

// watchForReset watches a side that has sent EOF. When both sides have, the connection ends without a watch.
func (c *conn) watchForReset(side int) {
	if c.watch != nil {
		return
	}
	w := c.worker().watches.Get()
	w.conn, w.side = c, side
	c.watch = w
	c.sockets[side].PollMany(0).Connect(&w.poll, w) // errors and hang-ups are always reported
	w.poll.Start()
}

// forgetWatch gives back the watch, which has completed.
func (c *conn) forgetWatch() {
	if c.watch != nil {
		c.worker().watches.Put(c.watch)
		c.watch = nil
	}
}

// SetNext takes the current events. EOF is among them; only a reset is an error.
func (w *watch) SetNext(events uint32) {
	if events&unix.POLLERR != 0 && w.conn.phase == phaseFlowing {
		w.conn.sideReset(w.side)
	}
}

// SetValue cannot happen: a poll that repeats does not end by itself.
func (w *watch) SetValue(struct{}) {}

// SetError does nothing: the socket is being closed.
func (w *watch) SetError(error) {}

// SetStopped does nothing: the connection rests; or the loop is stopping, and the receives end the connection.
func (w *watch) SetStopped() {}

// Env returns an empty environment.
func (w *watch) Env() sender.Env { return sender.EmptyEnv{} }
