package proxy

import (
	"net/netip"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// The sides of a connection; also the names of its directions, after where the bytes come from.
const (
	client = 0
	server = 1
)

// conn is a proxied connection: one allocation, with the operation states that it needs while it is
// idle inside. What it needs now and then is lent to it by its worker.
type conn struct {
	listener   *listener
	next, prev *conn
	sockets    [2]reactor.Socket
	pipes      [2]pipe
	timer      reactor.Timer
	active     int64 // time of the last byte, or of the last change of what is waited for
	looked     int64 // time of the last look
	dial       *dial // while connecting
	closing    *closing
	watch      *watch // while one direction is over
	began      int64
	peer       *netip.AddrPort // the client's address for the log; nil if connections are not logged
	server     int32           // the server connected to, an index of the backend's
	acked      uint32          // bytes that both peers had acknowledged when looked at, modulo 2^32
	phase      connPhase
	why        end
	dead       abort // sides that are gone
	cut        abort // sides of which a send has found out that they are gone: what they sent before is still to be taken
	half       bool  // one direction is over
	closes     uint8 // sockets being closed
	waits      uint8 // times that a reset has waited for bytes to arrive, if few
}

type connPhase uint8

const (
	phaseConnecting connPhase = iota
	phaseFlowing
	phaseResetting // a side is gone; the other is reset once the bytes for it have arrived
	phaseClosing
)

// abort says which sides are reset rather than ended when a connection is closed.
type abort uint8

const (
	abortClient abort = 1 << client
	abortServer abort = 1 << server
	abortBoth         = abortClient | abortServer
	abortNone   abort = 0
)

func newConn(l *listener, fd int) {
	w := l.worker
	c := &conn{listener: l, began: w.loop.Now()}
	c.sockets[client].Init(w.loop, fd)
	_ = c.sockets[client].SetNoDelay(true)
	c.timer.Init(c)
	if w.proxy.log.Core().Enabled(zap.DebugLevel) {
		peer, _ := c.sockets[client].PeerAddr()
		c.peer = &peer
	}
	w.conns.add(c)
	c.dial = w.dials.get()
	*c.dial = dial{conn: c}
	if w.closed {
		c.close(endKilled, abortBoth)
		return
	}
	c.dialNext()
}

func (c *conn) worker() *worker { return c.listener.worker }

func (c *conn) loop() *reactor.Loop { return c.listener.worker.loop }

func (c *conn) serverStats() *serverStats {
	return &c.worker().proxy.stats.servers[c.listener.backend.index][c.server]
}

// flow begins to carry bytes.
func (c *conn) flow() {
	c.phase = phaseFlowing
	for side := range c.pipes {
		c.pipes[side].start(c, side)
	}
	c.await()
}

// OnTimer is called when the connection has waited long enough for something, or may have: with bytes
// flowing the timer is not moved, but looks at the time of the last one.
func (c *conn) OnTimer(int64) {
	switch {
	case c.phase == phaseConnecting:
		c.dial.expire()
	case c.phase == phaseResetting && c.idle():
		c.close(c.why, abortBoth)
	case c.phase == phaseResetting:
		c.tryReset()
	case c.phase == phaseFlowing && c.idle():
		why := endIdle
		if c.half {
			why = endHalfClosed
		}
		c.close(why, c.undelivered())
	}
}

// undelivered is who must learn, by a reset, that bytes for it are lost if the connection ends now.
func (c *conn) undelivered() (how abort) {
	for from := range c.pipes {
		if c.pipes[from].underWay() {
			how |= 1 << (1 - from)
		}
	}
	return how
}

// finished is called when a direction is over: its end was passed on, or its receiver is gone.
func (c *conn) finished() {
	a, b := c.pipes[client].state, c.pipes[server].state
	switch {
	case a == pipeDone && b == pipeDone:
		c.close(endNormal, abortNone)
	case a == pipeBroken && (b == pipeDone || b == pipeBroken):
		c.reset(endServerReset, abortServer)
	case a == pipeDone && b == pipeBroken:
		c.reset(endClientReset, abortClient)
	default:
		c.half = true
		c.await()
	}
}

// reset ends the connection by a reset because the sides in dead are gone. The others are still given
// what came for them before.
func (c *conn) reset(why end, dead abort) {
	c.dead |= dead
	if c.phase == phaseFlowing {
		c.phase, c.why = phaseResetting, why
		c.await()
	}
	c.tryReset()
}

// sideReset is called when a side is gone.
func (c *conn) sideReset(side int) {
	why := endClientReset
	if side == server {
		why = endServerReset
	}
	c.reset(why, 1<<side)
}

// resetWaits is how often the time doubles after which a reset that waits for acknowledgements looks for them again: to
// a second.
const resetWaits = 10

// tryReset passes a reset on once the bytes before it have arrived, because closing with a reset drops
// those that have not.
func (c *conn) tryReset() {
	for side := range c.sockets {
		if c.dead&(1<<side) == 0 && c.pipes[1-side].underWay() {
			return // it calls again when it has sent all, or cannot
		}
	}
	if _, holds := c.acknowledged(); !holds {
		c.close(c.why, abortBoth)
		return
	}
	soon := int64(time.Millisecond) << c.waits
	c.waits = min(c.waits+1, resetWaits)
	c.lookAt(c.time() + min(soon, int64(c.patience())/looks))
}

// closing is what a connection needs to end, or to give up one of its sides.
type closing struct{ ops [2]reactor.CloseOp }

func (c *conn) lendClosing() *closing {
	if c.closing == nil {
		c.closing = c.worker().closings.get()
	}
	return c.closing
}

// close ends the connection: both sockets are closed when nothing is in flight on them any more.
func (c *conn) close(why end, how abort) {
	if c.phase == phaseClosing {
		return
	}
	open := [2]bool{true, c.phase != phaseConnecting || c.dial.connecting}
	if c.phase == phaseConnecting && c.dial.discarding {
		c.closes++ // by discarded
	}
	if entry := c.debug("closing"); entry != nil {
		entry.Write(c.names(), zap.Stringer("why", why), zap.Duration("after", time.Duration(c.loop().Now()-c.began)),
			zap.Uint64("from_client", c.pipes[client].bytes), zap.Uint64("from_server", c.pipes[server].bytes))
	}
	c.phase, c.why = phaseClosing, why
	c.loop().StopTimer(&c.timer)
	c.lendClosing()
	for side := range c.sockets {
		if !open[side] {
			continue
		}
		c.closes++
		s := &c.sockets[side]
		if how&(1<<side) != 0 {
			_ = s.SetAbort()
		}
		s.Close().Connect(&c.closing.ops[side], (*closed)(c))
	}
	for side := range c.sockets {
		if open[side] {
			c.closing.ops[side].Start()
		}
	}
}

// closed is a conn as the receiver of the closing of one of its sockets.
type closed conn

func (c *closed) SetValue(struct{}) {
	if c.closes--; c.closes == 0 {
		(*conn)(c).gone()
	}
}
func (c *closed) SetError(error)  { c.SetValue(struct{}{}) }
func (c *closed) SetStopped()     { c.SetValue(struct{}{}) }
func (c *closed) Env() sender.Env { return sender.EmptyEnv{} }

// gone gives back what the connection was lent, and makes room for another.
func (c *conn) gone() {
	w, l := c.worker(), c.listener
	w.closings.put(c.closing)
	if c.watch != nil {
		w.watches.put(c.watch)
	}
	if c.dial != nil {
		w.dials.put(c.dial)
	} else {
		c.serverStats().current.Add(-1)
	}
	l.stats.closed[c.why].Add(1)
	l.stats.duration.observe(w.loop.Now() - c.began)
	w.conns.remove(c)
	if len(w.starved) != 0 {
		w.feed() // before another is accepted
	}
	l.gone()
	w.endIfEmpty()
}

// debug begins a log entry about this connection, or returns nil. There may be a great many of them, so
// their fields are not to be made in vain.
func (c *conn) debug(msg string) *zapcore.CheckedEntry {
	return c.worker().proxy.log.Check(zap.DebugLevel, msg)
}

// names are the fields that say which connection it is.
func (c *conn) names() zap.Field {
	return zap.Dict("connection", zap.String("listener", c.listener.Name), zap.Stringer("client", c.peer),
		zap.String("server", c.listener.backend.Servers[c.server].Name))
}
