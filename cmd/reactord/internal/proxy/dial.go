package proxy

import (
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/balance"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// dialState is the state of the current attempt to reach a server:
//
//	idle, waitingForFD → connecting    next: the socket is open and the connect is in flight
//	idle               → waitingForFD  worker.waitForFD: no descriptor is free for the socket
//	connecting         → failed        SetError: the connect has failed
//	connecting         → timedOut      expire: closing the socket cancels the connect
//	failed, timedOut   → idle          socketDiscarded: the socket is closed
//
// A connect that succeeds ends the dial.
type dialState uint8

const (
	dialIdle         dialState = iota // between two attempts
	dialWaitingForFD                  // a server is chosen; the connection waits for a descriptor
	dialConnecting                    // the socket is open and the connect is in flight
	dialFailed                        // the connect has failed; its socket is being closed
	dialTimedOut                      // the connect took too long; its socket is being closed
)

// dial is what a connection needs until it has a server. It is small: when many clients connect at the same time, each
// connection has one.
type dial struct {
	conn    *conn
	connect reactor.DialOp
	began   int64
	request balance.Request
	tried   int32 // servers tried
	state   dialState
	err     error // why the last attempt failed
}

// discarding reports whether the socket of a failed attempt is being closed.
func (d *dial) discarding() bool { return d.state == dialFailed || d.state == dialTimedOut }

// next connects to the next server.
func (d *dial) next() {
	c := d.conn
	if d.state != dialWaitingForFD && !d.pick() { // else the server is already chosen
		if entry := c.debug("no server could be reached"); entry != nil {
			entry.Write(c.names(), zap.NamedError("last", d.err))
		}
		c.close(endNoServer, bothSides)
		return
	}
	address := c.to.Address
	family := unix.AF_INET6
	if address.Addr().Is4() {
		family = unix.AF_INET
	}
	if err := c.sockets[server].Open(c.worker().loop, family, unix.SOCK_STREAM, 0); err != nil {
		if outOfDescriptors(err) {
			c.listener.stats.acceptErrors[acceptErrorIndex(err)].Add(1)
			c.listener.warn("no descriptor is free for the connection to a server; retrying", err)
			c.worker().waitForFD(c)
			return
		}
		d.err = err
		c.close(endInternal, bothSides)
		return
	}
	_ = c.sockets[server].SetNoDelay(true)
	d.tried++
	d.state = dialConnecting
	loop := c.worker().loop
	d.began = loop.Now()
	loop.SetTimer(&c.timer, d.began+int64(c.settings.ConnectTimeout))
	c.sockets[server].Dial(address).Connect(&d.connect, d)
	d.connect.Start()
}

// pick picks the server to try next, and takes its load. False: there is none.
func (d *dial) pick() bool {
	c := d.conn
	if c.to != nil {
		c.to.Load.Give()
		c.to = nil
	}
	if d.tried > int32(c.settings.Retries) {
		return false
	}
	g := c.backend.Group()
	i, err := c.listener.picker.Pick(g.Group, &d.request)
	if err != nil {
		d.err = err
		return false
	}
	c.to = g.Servers[i]
	return true
}

// expire ends a connect that takes too long. It also ends a wait for a descriptor: other connections may be waiting for
// the one that this connection holds.
func (d *dial) expire() {
	switch d.state {
	case dialConnecting:
		d.discard(dialTimedOut)
	case dialWaitingForFD:
		d.conn.close(endInternal, bothSides)
	}
}

// discard closes the socket of an attempt that failed in the given way; the next attempt follows.
func (d *dial) discard(how dialState) {
	d.state = how
	op := &d.conn.takeCloseOps().ops[server]
	d.conn.sockets[server].Close().Connect(op, (*socketDiscarded)(d))
	op.Start()
}

// SetValue is called when the server is connected.
func (d *dial) SetValue(struct{}) {
	c := d.conn
	if c.phase != phaseConnecting || d.state != dialConnecting {
		return // too late: the socket is being closed
	}
	c.to.Connected(d.began, c.loop().Now())
	c.dial = nil
	c.worker().dials.put(d)
	c.flow()
}

// SetError is called when the server cannot be reached.
func (d *dial) SetError(err error) {
	c := d.conn
	if c.phase != phaseConnecting {
		return
	}
	if d.state == dialTimedOut {
		err = os.ErrDeadlineExceeded
	}
	d.err = err
	c.to.Failed(err)
	if entry := c.debug("cannot connect"); entry != nil {
		entry.Write(c.names(), zap.Error(err))
	}
	if d.state == dialConnecting {
		d.discard(dialFailed)
	}
}

// SetStopped is called when the loop is stopping, or when the connect was cancelled.
func (d *dial) SetStopped() {
	if !d.discarding() {
		d.conn.close(endKilled, bothSides)
	}
}

// Env is empty.
func (d *dial) Env() sender.Env { return sender.EmptyEnv{} }

// socketDiscarded is a dial as the receiver of the closing of a failed attempt's socket.
type socketDiscarded dial

func (s *socketDiscarded) SetValue(struct{}) {
	d, c := (*dial)(s), s.conn
	d.state = dialIdle
	if c.phase != phaseConnecting {
		(*socketClosed)(c).SetValue(struct{}{})
		return
	}
	c.worker().closings.put(c.closing)
	c.closing = nil
	d.request.Tried.Add(c.to.Address)
	d.next()
}
func (s *socketDiscarded) SetError(error)  { s.SetValue(struct{}{}) }
func (s *socketDiscarded) SetStopped()     { s.SetValue(struct{}{}) }
func (s *socketDiscarded) Env() sender.Env { return sender.EmptyEnv{} }
