package proxy

import (
	"errors"
	"os"
	"syscall"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// dial is what a connection needs until it has a server. When many connect at once each has one, so it is small.
type dial struct {
	conn    *conn
	connect reactor.DialOp
	began   int64
	tried   int32    // servers tried
	failed  []uint64 // those that could not be reached, a bit each; nil: none
	err     error    // why the last attempt failed
	// Where the attempt stands.
	connecting bool // the socket is open
	discarding bool // the socket is being closed, the attempt having failed
	timeout    bool // it failed by its timeout
	starved    bool // there is none now, for want of a descriptor
}

// dialNext connects to the server whose turn it is.
func (c *conn) dialNext() {
	d := c.dial
	b := c.listener.backend
	if int(d.tried) == len(b.Servers) {
		if entry := c.debug("no server could be reached"); entry != nil {
			entry.Write(c.names(), zap.NamedError("last", d.err))
		}
		c.close(endNoServer, abortBoth)
		return
	}
	if !d.starved { // else it has had its turn
		c.server = d.nextServer()
	}
	address := b.Servers[c.server].Address
	family := unix.AF_INET6
	if address.Addr().Is4() {
		family = unix.AF_INET
	}
	if err := c.sockets[server].Open(c.worker().loop, family, unix.SOCK_STREAM, 0); err != nil {
		if outOfDescriptors(err) {
			c.listener.stats.acceptErrors[acceptErrorIndex(err)].Add(1)
			c.listener.complain("no descriptor for the server's side of a connection; waiting", err)
			c.worker().starve(c)
			return
		}
		d.err = err
		c.close(endInternal, abortBoth)
		return
	}
	_ = c.sockets[server].SetNoDelay(true)
	d.tried++
	d.connecting, d.timeout, d.starved = true, false, false
	loop := c.worker().loop
	d.began = loop.Now()
	loop.SetTimer(&c.timer, d.began+int64(b.ConnectTimeout))
	c.sockets[server].Dial(address).Connect(&d.connect, d)
	d.connect.Start()
}

// nextServer takes the next turn of the rotation whose server has not failed yet. Attempts after the first take theirs
// from the same rotation, so that those which a dead server had are spread evenly over all others.
func (d *dial) nextServer() int32 {
	l := d.conn.listener
	for {
		turn := l.rotation
		l.rotation = (turn + 1) % len(l.backend.Servers)
		if d.failed == nil || d.failed[turn/64]&(1<<(turn%64)) == 0 {
			return int32(turn)
		}
	}
}

// fail notes that the server could not be reached.
func (d *dial) fail() {
	if d.failed == nil {
		d.failed = make([]uint64, (len(d.conn.listener.backend.Servers)+63)/64)
	}
	d.failed[d.conn.server/64] |= 1 << (d.conn.server % 64)
}

// expire ends the attempt, which closing the socket cancels, or the wait for a descriptor: the one that
// the connection has may be what others wait for.
func (d *dial) expire() {
	switch {
	case d.connecting:
		d.timeout = true
		d.discard()
	case d.starved:
		d.conn.close(endInternal, abortBoth)
	}
}

// discard closes the socket of a failed attempt; the next one follows.
func (d *dial) discard() {
	d.connecting, d.discarding = false, true
	op := &d.conn.lendClosing().ops[server]
	d.conn.sockets[server].Close().Connect(op, (*discarded)(d))
	op.Start()
}

// SetValue says that the server is there.
func (d *dial) SetValue(struct{}) {
	c := d.conn
	if c.phase != phaseConnecting || d.discarding {
		return // too late: it is being closed
	}
	s := c.serverStats()
	s.connections.Add(1)
	s.current.Add(1)
	c.worker().proxy.stats.connectTime[c.listener.backend.index].observe(c.worker().loop.Now() - d.began)
	c.dial = nil
	c.worker().dials.put(d)
	c.flow()
}

// SetError says that this server cannot be reached.
func (d *dial) SetError(err error) {
	c := d.conn
	if d.timeout {
		err = os.ErrDeadlineExceeded
	}
	if c.phase != phaseConnecting {
		return
	}
	d.err = err
	c.serverStats().failures[connectErrorIndex(err)].Add(1)
	if entry := c.debug("cannot connect"); entry != nil {
		entry.Write(c.names(), zap.Error(err))
	}
	if !d.timeout {
		d.discard()
	}
}

// SetStopped says that the loop is ending.
func (d *dial) SetStopped() {
	if !d.discarding {
		d.conn.close(endKilled, abortBoth)
	}
}

// Env is empty.
func (d *dial) Env() sender.Env { return sender.EmptyEnv{} }

// discarded is a dial as the receiver of the closing of a failed attempt.
type discarded dial

func (d *discarded) SetValue(struct{}) {
	c := d.conn
	d.discarding = false
	if c.phase != phaseConnecting {
		(*closed)(c).SetValue(struct{}{})
		return
	}
	c.worker().closings.put(c.closing)
	c.closing = nil
	(*dial)(d).fail()
	if int(d.tried) < len(c.listener.backend.Servers) {
		c.serverStats().retries.Add(1)
	}
	c.dialNext()
}
func (d *discarded) SetError(error)  { d.SetValue(struct{}{}) }
func (d *discarded) SetStopped()     { d.SetValue(struct{}{}) }
func (d *discarded) Env() sender.Env { return sender.EmptyEnv{} }

// connectErrorIndex sorts an error of connecting.
func connectErrorIndex(err error) int {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return connectRefused
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return connectTimeout
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return connectUnreachable
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return connectNoPort
	}
	return connectOther
}
