package engine

import (
	"errors"
	"net"
	"syscall"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// connTimer is a conn as the handler of its timer.
type connTimer conn

func (t *connTimer) OnTimer(int64) {
	c := (*conn)(t)
	switch c.state {
	case connUnopened:
		c.become(connIdle)
		c.session.closed()
	case connOpen:
		c.session.expired()
	case connBackingOff:
		c.become(connIdle)
		if c.group.persistent {
			c.open()
			break
		}
		c.failed = false
		c.group.ready(c, c.clock())
	}
	c.worker().flush()
}

// connConnected is a conn as the receiver of connect.
type connConnected conn

func (r *connConnected) SetValue(struct{}) {
	c := (*conn)(r)
	if c.state == connConnecting { // else it has failed meanwhile
		c.connected()
	}
	c.worker().flush()
}

func (r *connConnected) SetError(err error) {
	if !errors.Is(err, net.ErrClosed) {
		(*conn)(r).fail(record.FailureOf(err))
	}
}
func (r *connConnected) SetStopped()     {}
func (r *connConnected) Env() sender.Env { return sender.EmptyEnv{} }

// connReceived is a conn as the receiver of its RecvMany.
type connReceived conn

func (r *connReceived) SetNext(lease reactor.Lease) {
	c := (*conn)(r)
	if c.state == connOpen {
		c.group.win.BytesIn += int64(lease.Len())
		c.session.received(lease.Bytes())
	}
	lease.Release()
	c.worker().flush()
}

func (r *connReceived) SetValue(struct{}) {
	c := (*conn)(r)
	if c.state == connOpen {
		c.session.ended()
	}
	c.worker().flush()
}
func (r *connReceived) SetError(err error) { (*conn)(r).broke(err) }
func (r *connReceived) SetStopped()        {}
func (r *connReceived) Env() sender.Env    { return sender.EmptyEnv{} }

// broke fails the connection when a receive or a send completes with an error.
func (c *conn) broke(err error) {
	if !errors.Is(err, net.ErrClosed) {
		c.fail(record.FailureOf(err))
	}
}

// connSent is a conn as the receiver of its sends.
type connSent conn

func (r *connSent) SetValue(n int) {
	c := (*conn)(r)
	whole := n == c.sending
	c.group.win.BytesOut += int64(n)
	c.sending = 0
	if !whole || c.state != connOpen && c.tls == nil {
		return // the connection is being closed
	}
	if c.flush(); c.sending == 0 && c.state == connOpen {
		c.session.drained()
	}
	c.worker().flush()
}

func (r *connSent) SetError(err error) {
	c := (*conn)(r)
	c.sending = 0
	// The receive reports a reset too, after the bytes that came before it.
	if c.worker().datagrams && errors.Is(err, syscall.ECONNREFUSED) {
		c.fail(record.Refused)
		return
	}
	c.broke(err)
}
func (r *connSent) SetStopped()     { (*conn)(r).sending = 0 }
func (r *connSent) Env() sender.Env { return sender.EmptyEnv{} }

// connClosed is a conn as the receiver of its close, after which every operation has completed.
type connClosed conn

func (r *connClosed) SetValue(struct{}) {
	c := (*conn)(r)
	c.become(connIdle)
	c.tls = nil
	c.queue = c.queue[:0]
	c.life++
	if w := c.worker(); w.phase != phaseStopped {
		c.session.closed()
		w.flush()
	}
}
func (r *connClosed) SetError(error)  { r.SetValue(struct{}{}) } // the descriptor is closed nevertheless
func (r *connClosed) SetStopped()     {}
func (r *connClosed) Env() sender.Env { return sender.EmptyEnv{} }
