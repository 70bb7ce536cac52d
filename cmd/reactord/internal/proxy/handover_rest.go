package proxy

import (
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/handover"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// movable is a connection or a UDP session, as what can be continued in another process.
type movable interface {
	member
	// canRest reports whether it can be continued elsewhere now, and if not, why.
	canRest() (stays stayReason, can bool)
	// comeToRest begins to join what is in flight, for a batch.
	comeToRest(batch *offers)
	// atRest collects what was in flight, now that no operation is. It reports whether it still can move.
	atRest() bool
	// record describes it, and returns its descriptors, and the bytes of each side that were not sent.
	record() (r handover.Record, fds []int, unsent [2][]byte)
	// carryOn lets it flow here.
	carryOn()
	// leave ends it here, without a word to its peers: another process has it.
	leave()
}

// leaving is a flowing or draining connection, or a UDP session, that comes to rest, to be continued in another
// process; or one that has come from another process, and is not continued yet. Its states:
//
//	joining → rested    the last operation on its sockets has completed
//	rested  → offered   offer: its record is on its way to the other process
//	arrived             its record has come from the other process, which has not heard yet that it is taken
//	rested, offered, arrived → continued  carryOn: it flows, here
//	offered, arrived → left  leave: it is the other process's
//	joining, rested → dropped  it was closed
//
// From offered on, and when it has arrived, nothing is done with the sockets: the other process may have them.
type leaving struct {
	worker *worker
	of     movable // nil: it was closed while it was joining
	state  leavingState
	batch  *offers // that it is to be in; nil: it is carried on when it rests
	ops    [2]reactor.QuiesceOp
	joins  uint8
	rested int64   // when its rest began, on the clock of the loop; of one that has arrived, as in its record
	rest   [2]rest // of a connection
	ends   bool    // it is closed when it is carried on
	why    closeReason
	reset  sideSet
}

type leavingState uint8

const (
	leavingJoins leavingState = iota
	leavingRests
	leavingOffered
	leavingArrived
)

// beginRest makes the leaving of what comes to rest, with so many sockets that are joined.
func (a *association) beginRest(of movable, batch *offers, joins uint8) *leaving {
	w := a.worker()
	h := w.leavings.Get()
	*h = leaving{worker: w, of: of, batch: batch, joins: joins, rested: w.loop.Now()}
	a.leaving = h
	return h
}

// rest is what a direction has received and not sent, and when it may receive more.
type rest struct {
	bytes  []byte
	tube   reactor.SplicePipe // with bytes, instead
	refill int64              // when the bucket of a limited direction is full again
	wait   int64              // until when it is held back
}

// some reports whether there are bytes.
func (r *rest) some() bool { return len(r.bytes) != 0 || r.tube.Held() != 0 }

// drop drops the bytes.
func (r *rest) drop() {
	r.tube.Close()
	*r = rest{}
}

// rests reports whether the connection comes to rest, or is at rest.
func (c *conn) rests() bool { return c.leaving != nil }

// canRest reports whether the connection can be continued elsewhere now, and if not, why.
func (c *conn) canRest() (stays stayReason, can bool) {
	switch {
	case c.phase != phaseFlowing && c.phase != phaseDraining, c.dial != nil, c.opening != nil:
		return staysSetup, false
	case c.leaving != nil:
		return staysBusy, false
	case c.tls != nil && !c.tls.canRest():
		return staysTLS, false
	}
	return 0, true
}

// comeToRest joins what is in flight on the sockets. Bytes that have arrived are kept, and so is what a send leaves.
func (c *conn) comeToRest(batch *offers) {
	h := c.beginRest(c, batch, 2)
	for side := range c.sockets {
		c.sockets[side].Quiesce().Connect(&h.ops[side], h)
	}
	for side := range c.sockets {
		h.ops[side].Start()
	}
}

// SetValue notes that a socket is at rest.
func (h *leaving) SetValue(struct{}) {
	if h.joins--; h.joins != 0 {
		return
	}
	switch m := h.of; {
	case m == nil:
		h.worker.leavings.Put(h)
	case m.over(): // what was in flight has ended it
		m.common().dropRest()
	default:
		if b := h.batch; !m.atRest() && b != nil {
			h.batch = nil
			b.forget(h)
		}
		if h.state = leavingRests; h.batch == nil {
			m.carryOn()
		} else {
			h.batch.joined()
		}
	}
}

// SetError notes that a socket is being closed.
func (h *leaving) SetError(error) { h.SetValue(struct{}{}) }

// SetStopped cannot happen: a socket is joined in any case.
func (h *leaving) SetStopped() {}

// Env returns an empty environment.
func (h *leaving) Env() sender.Env { return sender.EmptyEnv{} }

// atRest collects what is in flight, now that no operation is.
func (c *conn) atRest() (moves bool) {
	h := c.leaving
	c.loop().StopTimer(&c.timer)
	c.forgetWatch()
	if moves = true; c.tls != nil {
		moves = c.tls.atRest(&h.rest)
	}
	for from := range c.pipes {
		p := &c.pipes[from]
		if t := p.throttle; t != nil {
			if t.waits {
				h.rest[from].wait = t.until
			}
			t.end()
			h.rest[from].refill = t.own.RefilledAt()
			p.throttle = nil
		}
		if p.out == nil {
			continue
		}
		if s := p.out.splice; s != nil {
			if s.tube.Held() != 0 {
				h.rest[from].tube, s.tube = s.tube, reactor.SplicePipe{}
			}
			s.end()
		}
		h.rest[from].bytes = p.out.unsent()
		p.releaseTransfer()
	}
	return moves
}

// dropRest ends the rest of what is closed: what it holds is dropped.
func (a *association) dropRest() {
	h := a.leaving
	if h == nil {
		return
	}
	a.leaving = nil
	for from := range h.rest {
		h.rest[from].drop()
	}
	batch := h.batch
	h.of, h.batch = nil, nil
	if batch != nil {
		batch.forget(h)
	}
	if h.joins == 0 {
		h.worker.leavings.Put(h)
	} // else it is when the sockets are joined
}

// postponed reports whether the connection must not be closed yet, because another process may have it; it is closed
// when it is carried on.
func (h *leaving) postponed(why closeReason, reset sideSet) bool {
	if h.state < leavingOffered {
		return false
	}
	if !h.ends {
		h.ends, h.why, h.reset = true, why, reset
	}
	return true
}

// carryOn lets a connection at rest flow.
func (c *conn) carryOn() {
	h, w := c.leaving, c.worker()
	rests, ends, why, reset := h.rest, h.ends, h.why, h.reset
	c.leaving = nil
	w.leavings.Put(h)
	if ends || w.state == workerClosed {
		for from := range rests {
			if rests[from].some() {
				reset |= 1 << (1 - from) // it would miss bytes
			}
			rests[from].drop()
		}
		if !ends {
			why, reset = reasonKilled, bothSides
		}
		c.close(why, reset)
		return
	}
	if c.phase == phaseFlowing {
		c.limitBytes()
	}
	for from := range c.pipes { // both, before one of them finds out that a side is gone
		c.pipes[from].restore(c, from, &rests[from])
	}
	if c.tls != nil {
		c.tls.carryOn(&rests)
	} else {
		for from := range c.pipes {
			if c.phase != phaseClosed {
				c.pipes[from].carryOn()
			}
		}
	}
	switch c.phase {
	case phaseFlowing:
		for from := range c.pipes {
			if s := c.pipes[from].state; s == pipeEOF || s == pipeHalfClosed {
				c.watchForReset(from)
			}
		}
		c.setTimer(c.lastActive + int64(c.patience())/idleChecks)
	case phaseDraining:
		c.tryReset()
	}
}

// restore makes a direction one that is about to send what is left of it.
func (p *pipe) restore(c *conn, from int, r *rest) {
	p.conn, p.from, p.bulk, p.held = c, uint8(from), 0, true
	if t := p.throttle; t != nil {
		if t.own.RefillAt(r.refill); r.wait > c.loop().Now() {
			t.waitUntil(r.wait)
		}
	}
	if !r.some() || c.tls != nil {
		return
	}
	w := c.worker()
	p.out = w.transfers.Get()
	p.out.begin(p)
	p.out.rest, p.out.stopped = r.bytes, true
	if r.tube.Held() != 0 {
		if w.proxy.budget.Pipes().Take() != limit.Granted {
			w.proxy.budget.Pipes().Force()
		}
		p.out.splice = w.splices.Get()
		*p.out.splice = splice{pipe: p, tube: r.tube}
		w.splicing++
	}
}

// carryOn sends what is left, and then receives. A direction that has ended is received from at once, so that the
// socket knows that its peer has sent EOF.
func (p *pipe) carryOn() {
	if p.state != pipeOpen || p.conn.phase == phaseDraining {
		p.start(p.conn, int(p.from))
	}
	switch t := p.out; {
	case t == nil:
		p.receiveMore(0)
	case t.splice != nil:
		t.stopped = false
		t.splice.run()
	default:
		t.flush()
	}
}

// leave ends the connection here, without a word to its peers: another process has it.
func (c *conn) leave() {
	c.leaving.batch = nil
	c.why = reasonMoved
	c.closeSockets(bothSides)
}

func (c *conn) record() (r handover.Record, fds []int, unsent [2][]byte) {
	h, now := c.leaving, c.loop().Now()
	r = c.beginRecord()
	r.Idle, r.Acked, r.KeepAlive, r.LastFrom = c.idleFor(), c.acked, c.keepAliveOn, handover.Which(c.lastFrom)
	if c.checkedAt >= c.lastActive {
		r.Checked = time.Duration(max(c.time()-c.checkedAt, 1))
	}
	if c.phase == phaseDraining {
		side := handover.Client
		if c.why == reasonServerReset {
			side = handover.Server
		}
		r.Reset = &side
	}
	if c.tls != nil {
		r.Needs = []string{handover.NeedsTLS}
	}
	var pipes []int
	for from := range c.pipes {
		p, s := &c.pipes[from], &r.Sides[from]
		*s = handover.Side{
			TCP:   from == client && c.listener.tcp || from == server && !c.serverAddr().IsUnix(),
			State: handover.SideState(c.sides[from]), Flow: handover.Flow(p.state), Bytes: p.bytes, Skipped: p.skipped,
			Unsent: len(h.rest[from].bytes), Piped: h.rest[from].tube.Held(),
		}
		if c.tls != nil {
			c.tls.sides[from].record(s)
		}
		unsent[from] = h.rest[from].bytes
		if s.Piped != 0 {
			reader, writer := h.rest[from].tube.FDs()
			pipes = append(pipes, reader, writer)
		}
		if at := max(h.rest[from].refill, h.rest[from].wait); at > now {
			s.Throttle = &handover.Throttle{
				Refill: time.Duration(max(h.rest[from].refill-now, 0)), Wait: time.Duration(max(h.rest[from].wait-now, 0)),
			}
		}
	}
	if k := c.identity; k != nil {
		r.Identity = &handover.Identity{
			Client: k.clientAddr, Destination: k.destination, SNI: k.SNI, ALPN: k.Negotiated, Route: k.Route,
		}
		if t := k.TLS; t != nil {
			r.Identity.TLS = &handover.TLS{
				Version: t.version, Cipher: t.cipher, Resumed: t.resumed, Certificate: t.certificate, Name: t.name,
			}
		}
	}
	if c.log != nil {
		r.Log = c.log.handOver(now)
	}
	return r, append([]int{c.sockets[client].Fd(), c.sockets[server].Fd()}, pipes...), unsent
}

// beginRecord describes what connections and sessions have in common.
func (a *association) beginRecord() handover.Record {
	return handover.Record{
		ID: a.id, Listener: a.listener.shared.key, ListenerName: a.listener.name(),
		Backend: a.backendName(), Server: a.serverAddr(), ServerName: a.serverName(),
		Settings: handover.SettingsOf(a.config), Age: a.age(),
		Rested: time.Now().UnixNano() - (a.loop().Now() - a.leaving.rested),
	}
}
