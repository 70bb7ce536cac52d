package proxy

import (
	"fmt"
	"net/netip"
	"unsafe"

	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"go.uber.org/zap"
)

// The sides of a connection. A direction has the number of the side that its bytes come from.
const (
	client = 0
	server = 1
)

// sideSet is a set of sides.
type sideSet uint8

const (
	noSide     sideSet = 0
	clientSide sideSet = 1 << client
	serverSide sideSet = 1 << server
	bothSides          = clientSide | serverSide
)

func (s sideSet) has(side int) bool { return s&(1<<side) != 0 }

// phase is the phase of a connection. It only advances:
//
//	opening    → connecting  connect: its backend is known
//	connecting → flowing     flow: a server is connected, and was greeted
//	flowing    → draining    sideReset: a side was reset
//	any other  → closed      close
//
// A connection whose listener needs nothing of the client before it knows the backend begins with connecting.
type phase uint8

const (
	phaseOpening    phase = iota // the backend is not known yet; the opening has the details
	phaseConnecting              // there is no server yet; the dial has the details
	phaseFlowing                 // bytes are carried; pipeState has the details of each direction
	phaseDraining                // a side was reset; the other is reset once the bytes for it have arrived
	phaseClosed                  // the sockets are closed, or closing them is in flight
)

// advance enters a later phase.
func (c *conn) advance(to phase) {
	if to <= c.phase {
		panic(fmt.Sprintf("proxy: a connection in phase %d cannot enter phase %d: phases only advance", c.phase, to))
	}
	c.phase = to
}

// conn carries the bytes between a client and a server. It contains the operation states that an idle connection needs,
// and takes what it needs only at times from the pools of its worker.
type conn struct {
	association
	sockets        [2]reactor.Socket
	pipes          [2]pipe
	timer          reactor.Timer
	lastActive     int64           // time of the last byte, or of the last change of what the connection waits for
	checkedAt      int64           // time of the last check for idleness
	dial           *dial           // while there is a backend and no server
	opening        *opening        // until a server has taken the early bytes
	identity       *identity       // nil if only the kernel tells of the client
	tls            *tlsLayer       // nil if neither side speaks TLS
	closing        *closeOps       // while sockets are being closed
	watch          *watch          // once a side has sent EOF
	log            *logRecord      // nil if the access log does not have the connection
	peer           *netip.AddrPort // the client's address, if connections are logged
	acked          uint32          // bytes that both peers had acknowledged at the last check, modulo 2^32
	phase          phase
	sides          [2]sideState
	lastFrom       uint8 // the side of the last byte
	closingSockets uint8 // sockets being closed
	resetBackoff   uint8 // how often the time between two attempts to reset has doubled
	keepAliveOn    bool  // keep-alive is on
}

// connOf returns the connection that embeds l.
func connOf(l *intrusive.Links) *conn {
	return intrusive.Owner[conn](l, unsafe.Offsetof(conn{}.links))
}

// newConn makes a connection, which held counts among those of its source. If peer is zero, the kernel is asked for it
// when it is needed, and the connection counts whatever the limits.
func newConn(l *listener, s *settings, fd int, peer netip.AddrPort, held sourceHolds) {
	w := l.worker
	c := w.closedConns.Get()
	c.association = l.associate()
	c.holdSources(held)
	if l.tcp {
		c.sockets[client].InitTCP(w.loop, fd)
	} else {
		c.sockets[client].InitStream(w.loop, fd)
	}
	if w.cpu != noCPU {
		w.countLocal(&c.sockets[client])
	}
	c.timer.Init(c)
	c.beginLogRecord(s, peer)
	if c.peer == nil && w.proxy.log.Core().Enabled(zap.DebugLevel) {
		peer := c.peerAddr()
		c.peer = &peer
	}
	if !peer.IsValid() {
		c.countPeer(s)
	}
	w.conns.PushFront(&c.links)
	switch {
	case w.state == workerClosed:
		c.close(reasonKilled, bothSides)
	case s.needsOpening:
		c.open(s)
	default:
		c.connect(s.router.fallback[0].backend, nil)
	}
}

// connect begins to connect to a server of a backend, by a route or by none.
func (c *conn) connect(to *upstream.Backend, by *route) {
	c.phase = phaseConnecting
	c.assign(to, by)
	c.setTimeouts(&c.sockets[client])
	c.dial = c.worker().dials.Get()
	c.dial.conn = c
	c.dial.begin()
}

// flow begins to carry bytes.
func (c *conn) flow() {
	c.advance(phaseFlowing)
	c.limitBytes()
	if c.tls != nil {
		c.flowSecure()
		return
	}
	for side := range c.pipes {
		c.pipes[side].start(c, side)
	}
	c.restartIdleTimer()
}

// time returns the loop's time, less the time in which the process did not run: a connection is not idle then.
func (c *conn) time() int64 {
	l := c.loop()
	return l.Now() - l.Stalled()
}

// touch notes that a byte has moved.
func (c *conn) touch() { c.lastActive = c.time() }

// OnTimer checks whether the connection has waited for too long. While bytes flow, the timer is not moved with each of
// them: the time of the last one is checked here.
func (c *conn) OnTimer(int64) {
	switch c.phase {
	case phaseOpening:
		c.opening.expire()
	case phaseConnecting:
		c.dial.expire()
	case phaseFlowing:
		c.checkTimeouts()
	case phaseDraining:
		if c.loop().Now() >= c.lifeEnds() || c.idle() {
			c.close(c.why, bothSides)
		} else {
			c.tryReset()
		}
	}
}

// halfClosed reports whether one direction has ended.
func (c *conn) halfClosed() bool {
	return c.pipes[client].state.ended() || c.pipes[server].state.ended()
}

// undelivered returns the sides that would miss bytes if the connection ended now. A reset tells them.
func (c *conn) undelivered() (sides sideSet) {
	for from := range c.pipes {
		if c.pipes[from].inFlight() || c.speaksTLS(from) && c.tls.sides[from].framing.cut() {
			sides |= 1 << (1 - from)
		}
	}
	return sides
}

// directionEnded decides what follows when a direction of a flowing connection has ended.
func (c *conn) directionEnded() {
	fromClient, fromServer := c.pipes[client].state, c.pipes[server].state
	switch {
	case !fromClient.ended() || !fromServer.ended():
		c.restartIdleTimer() // half-closed: the other direction still flows
	case fromClient == pipeHalfClosed && fromServer == pipeHalfClosed:
		c.close(reasonNormal, noSide)
	case fromClient == pipeBroken:
		c.sideReset(server)
	default:
		c.sideReset(client)
	}
}

// closeOps are the operations that close the sockets of a connection.
type closeOps struct{ ops [2]reactor.CloseOp }

// takeCloseOps takes closeOps from the worker, unless the connection has some.
func (c *conn) takeCloseOps() *closeOps {
	if c.closing == nil {
		c.closing = c.worker().closings.Get()
	}
	return c.closing
}

// close ends the connection: it resets the sides in reset, and ends the others by EOF. A socket is closed when all its
// operations have completed.
func (c *conn) close(why closeReason, reset sideSet) {
	if c.phase == phaseClosed || c.leaving != nil && c.leaving.postponed(why, reset) {
		return
	}
	c.why = why
	tcp := c.sampleTCP()
	c.countTCP(&tcp)
	if !why.isExpected() || c.awaitedServer() {
		c.countFailure(c.end())
	}
	c.logEnd(&tcp)
	open := bothSides
	switch {
	case c.phase == phaseOpening:
		open = c.opening.abandon()
	case c.dial != nil:
		open = c.dial.abandon()
	}
	debugEnd(c)
	if c.tls != nil {
		c.tls.closeNotify(open &^ reset)
	}
	for side := range c.sockets {
		if open.has(side) && reset.has(side) && c.sides[side] != sideClosed {
			_ = c.sockets[side].SetAbort()
		}
	}
	c.closeSockets(open)
}

// closeSockets enters the last phase, in which the sockets that are open are closed.
func (c *conn) closeSockets(open sideSet) {
	c.advance(phaseClosed)
	c.endThrottles()
	c.loop().StopTimer(&c.timer)
	c.dropRest()
	for from := range c.pipes {
		c.pipes[from].dropStopped()
	}
	if c.tls != nil {
		c.tls.dropStopped()
	}
	c.takeCloseOps()
	for side := range c.sockets {
		if open.has(side) {
			c.closingSockets++
			c.sockets[side].Close().Connect(&c.closing.ops[side], (*socketClosed)(c))
		}
	}
	for side := range c.sockets {
		if open.has(side) {
			c.closing.ops[side].Start()
		}
	}
}

// socketClosed is a conn as the receiver of the closing of one of its sockets.
type socketClosed conn

func (c *socketClosed) SetValue(struct{}) {
	if c.closingSockets--; c.closingSockets == 0 {
		(*conn)(c).release()
	}
}
func (c *socketClosed) SetError(error)  { c.SetValue(struct{}{}) }
func (c *socketClosed) SetStopped()     { c.SetValue(struct{}{}) }
func (c *socketClosed) Env() sender.Env { return sender.EmptyEnv{} }

// release gives back what the closed connection has of its worker, and makes room for another one.
func (c *conn) release() {
	w := c.worker()
	w.closings.Put(c.closing)
	c.forgetWatch()
	c.forgetDial()
	c.forgetOpening()
	if c.log != nil {
		c.peer = nil
		w.logRecords.Put(c.log)
	}
	if c.tls != nil {
		c.tls.wipe()
	}
	c.association.release(&w.conns, c.moved())
	w.closedConns.Put(c)
	w.stopIfEmpty()
}
