package proxy

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/handover"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// taking takes connections that another process offers, over one socket, a batch at a time. Its states:
//
//	reading   → answering  a whole frame is there
//	answering → reading    the answer is sent, or the other process has ended: the connections are carried on
//	any       → ended      this process ends, or the other one has; or what it sends cannot be read
type taking struct {
	worker  *worker
	socket  reactor.Socket
	state   takingState
	recv    reactor.RecvFDsOp
	buf     [32 << 10]byte
	in      []byte
	fds     []int
	lost    bool // descriptors are missing
	batch   []movable
	awaits  bool          // sessions of UDP
	timer   reactor.Timer // of awaiting them
	answer  []byte
	last    bool  // the frame is the last one with sessions
	failed  error // why no further frame is read
	send    reactor.SendOp
	closing reactor.CloseOp
}

type takingState uint8

const (
	takingReads takingState = iota
	takingAnswers
	takingEnded
)

// beginTaking begins to take connections.
func (w *worker) beginTaking(fd int) {
	t := &taking{worker: w, awaits: true}
	t.timer.Init(t)
	w.loop.SetTimer(&t.timer, w.loop.Now()+sessionsTime)
	t.socket.InitStream(w.loop, fd)
	w.takings = append(w.takings, t)
	w.proxy.handovers.opened(1)
	t.socket.RecvFDs(t.buf[:], reactor.MaxFDs).Connect(&t.recv, t)
	t.recv.Start()
}

// sessionsTime bounds how long clients' datagrams wait for sessions: there may be many, or the other process may be
// stopped.
const sessionsTime = int64(time.Second)

// OnTimer awaits no more sessions.
func (t *taking) OnTimer(int64) { t.sessionsCame() }

// sessionsCame notes that no more sessions come, or that they are not awaited.
func (t *taking) sessionsCame() {
	if !t.awaits {
		return
	}
	t.awaits = false
	t.worker.loop.StopTimer(&t.timer)
	t.worker.proxy.sessionsCame()
}

// SetValue takes a part of a frame.
func (t *taking) SetValue(r reactor.Rights) {
	if t.state == takingEnded {
		clear(t.buf[:r.N])
		r.Close()
		return
	}
	before := t.in
	if t.in = append(t.in, t.buf[:r.N]...); cap(t.in) != cap(before) {
		clear(before) // it may have secrets
	}
	clear(t.buf[:r.N])
	t.fds = append(t.fds, r.FDs...)
	t.lost = t.lost || r.Truncated
	missing, err := handover.Missing(t.in)
	switch {
	case r.N == 0:
		t.end(errProcessEnded)
	case err != nil:
		t.reply(&handover.Answer{Error: err.Error()}, err)
	case missing != 0:
		t.recv.Start()
	default:
		t.take()
	}
}

// SetError ends the taking: the other process has ended.
func (t *taking) SetError(err error) { t.end(err) }

// SetStopped ends the taking: the loop is stopping.
func (t *taking) SetStopped() { t.end(errEnds) }

// Env returns an empty environment.
func (t *taking) Env() sender.Env { return sender.EmptyEnv{} }

// take takes the connections of a frame.
func (t *taking) take() {
	f, err := handover.Decode(t.in)
	if err != nil {
		t.reply(&handover.Answer{Error: err.Error()}, err)
		return
	}
	var a handover.Answer
	fds, unsent := t.fds, f.Unsent
	t.fds = nil
	for i := range f.Records {
		r := &f.Records[i]
		own := fds[:min(r.FDs(), len(fds))]
		fds = fds[len(own):]
		bytes := unsent[:r.Unsent()]
		unsent = unsent[len(bytes):]
		m, err := t.accept(r, own, bytes)
		if err != nil {
			a.Refuse(i, err.Error())
			r.Wipe()
			discard(t.worker, own...)
			continue
		}
		t.batch = append(t.batch, m)
	}
	discard(t.worker, fds...)
	t.last = f.NoMoreSessions
	for _, e := range f.Ends {
		t.worker.endMember(e.ID, endBy(e.By))
	}
	t.reply(&a, nil)
}

// endBy returns the end of an open connection that the access log names so.
func endBy(name string) closeReason {
	for why := firstOfAnyPhase; why < closeReasonCount; why++ {
		if closeReasons[why].By == name {
			return why
		}
	}
	return reasonAdmin
}

// endMember resets the connection or session with an id, if it is there.
func (w *worker) endMember(id uint64, why closeReason) {
	for _, members := range memberLists {
		for l := members.list(w).Last(); l != nil; l = l.Prev() { // those that have come from elsewhere are the oldest
			if m := members.of(l); m.common().id == id {
				m.reset(why)
				return
			} else if m.common().id > id {
				break
			}
		}
	}
}

// accept makes a connection or a session of its record, or returns why it is not taken.
func (t *taking) accept(r *handover.Record, fds []int, unsent []byte) (movable, error) {
	switch unknown := r.Unknown(); {
	case t.lost || len(fds) != r.FDs():
		return nil, errors.New("the process has no descriptors left")
	case unknown != "":
		return nil, errors.New("the process does not know of " + unknown)
	case t.worker.state != workerServing:
		return nil, errors.New("the process drains")
	case r.Session != nil:
		return t.worker.arriveSession(r, fds[0])
	}
	return t.worker.arriveConn(r, fds, unsent)
}

// reply sends the answer. Until it is sent, the connections are not touched. failed is why it is the last one, or nil.
func (t *taking) reply(a *handover.Answer, failed error) {
	t.state, t.failed = takingAnswers, failed
	clear(t.in) // it may have secrets
	t.in, t.lost = t.in[:0], false
	if cap(t.in) > maxKept {
		t.in = nil
	}
	answer, err := a.Append(t.answer[:0])
	if err != nil {
		t.end(err)
		return
	}
	t.answer = answer
	t.socket.SendAll(answer).Connect(&t.send, (*replied)(t))
	t.send.Start()
}

// processEnded reports whether err means that the other process has ended.
func processEnded(err error) bool {
	return errors.Is(err, errProcessEnded) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// maxKept bounds the memory of a frame that is kept for the next one.
const maxKept = 256 << 10

// replied is a taking as the receiver of the sending of its answer.
type replied taking

// SetValue lets the connections flow: the other process learns that they are taken, also if this one ends.
func (s *replied) SetValue(n int) {
	t := (*taking)(s)
	switch {
	case t.state == takingEnded:
	case n < len(t.answer):
		t.end(errEnds)
	default:
		t.carryOn()
		switch {
		case t.failed != nil:
			t.end(t.failed)
			return
		case t.worker.state == workerClosed:
			t.end(errEnds)
			return
		}
		t.state = takingReads
		t.recv.Start()
	}
}

// SetError lets the connections flow if the other process has ended: it has them no longer.
func (s *replied) SetError(err error) {
	t := (*taking)(s)
	if t.state == takingEnded {
		return
	}
	if processEnded(err) {
		t.carryOn()
	}
	t.end(err)
}

// SetStopped ends the taking: the loop is stopping.
func (s *replied) SetStopped() { (*taking)(s).end(errEnds) }

// Env returns an empty environment.
func (s *replied) Env() sender.Env { return sender.EmptyEnv{} }

// carryOn lets the connections of the batch flow.
func (t *taking) carryOn() {
	h, now := &t.worker.proxy.handovers, time.Now().UnixNano()
	batch := t.batch
	t.batch = nil
	for _, m := range batch {
		h.taken.Add(1)
		h.pause.Observe(max(now-m.common().leaving.rested, 0))
		m.carryOn()
		if s := m.common().server; !m.over() && s.ClosesConnections() { // it went down meanwhile
			m.reset(reasonServerDown)
		}
	}
	if t.last {
		t.sessionsCame()
	}
}

// close ends the taking, because this process resets its connections; when it has sent its answer, if it is about to.
func (t *taking) close() {
	if t.state != takingAnswers {
		t.end(errEnds)
	}
}

// end ends the taking. Connections that it has not answered for are left to the other process.
func (t *taking) end(why error) {
	if t.state == takingEnded {
		return
	}
	w := t.worker
	if why != errEnds && !processEnded(why) { //nolint:errorlint // it is bare
		w.proxy.log.Warn("the old process keeps its connections", zap.Error(why))
	}
	t.state = takingEnded
	w.takings = slices.DeleteFunc(w.takings, func(other *taking) bool { return other == t })
	w.proxy.handovers.opened(-1)
	t.sessionsCame()
	for _, m := range t.batch {
		m.leave()
	}
	t.batch = nil
	t.abandon(processEnded(why))
	t.socket.Close().Connect(&t.closing, ignored{})
	t.closing.Start()
}

// abandon drops a frame that is not whole, and closes its descriptors. If the other process has ended, and the bytes of
// the connections with it, they are reset.
func (t *taking) abandon(reset bool) {
	clear(t.in) // it may have secrets
	for _, fd := range t.fds {
		var s reactor.Socket
		s.Init(t.worker.loop, fd)
		if reset {
			_ = s.SetAbort()
		}
		s.Discard()
	}
	t.fds = nil
}

// arriveConn makes a connection of its record, with its descriptors and its unsent bytes. Nothing is done with it yet.
func (w *worker) arriveConn(r *handover.Record, fds []int, unsent []byte) (*conn, error) {
	now, of := w.loop.Now(), w.proxy.serverFor(r)
	l := w.proxy.listenerFor(r).loops[w.index]
	c := w.closedConns.Get()
	c.association = association{
		listener: l, backend: w.backend(of.Backend), server: of, id: r.ID, began: now - int64(r.Age), counted: true,
	}
	c.config = c.backend.takenConfig(&r.Settings)
	if err := c.arriveTLS(r); err != nil {
		if c.tls != nil {
			c.tls.wipe()
		}
		*c = conn{}
		w.closedConns.Put(c)
		return nil, err
	}
	of.Backend.Load.Force()
	of.Load.Force()
	l.admission.Force()
	l.stats.current.Add(1)
	w.open.Add(1)
	c.timer.Init(c)
	c.lastActive = c.time() - int64(r.Idle)
	if r.Checked != 0 {
		c.checkedAt = c.time() - int64(r.Checked)
	}
	c.acked, c.keepAliveOn, c.lastFrom, c.phase = r.Acked, r.KeepAlive, uint8(r.LastFrom), phaseFlowing
	if r.Reset != nil {
		c.phase, c.why = phaseDraining, reasonClientReset
		if *r.Reset == handover.Server {
			c.why = reasonServerReset
		}
	}
	if k := r.Identity; k != nil {
		c.identity = &identity{
			clientAddr: k.Client, destination: k.Destination, SNI: k.SNI, Negotiated: k.ALPN, Route: k.Route,
		}
		if t := k.TLS; t != nil {
			c.identity.TLS = &handshakeResult{
				version: t.Version, cipher: t.Cipher, resumed: t.Resumed, certificate: t.Certificate, name: t.Name,
			}
		}
	}
	if r.Log != nil && w.accessLog != nil {
		c.log = w.logRecords.Get()
		c.log.takeOver(r.Log, now)
		c.peer = &c.log.peer
	}
	h := w.leavings.Get()
	*h = leaving{worker: w, of: c, state: leavingArrived, rested: r.Rested}
	c.leaving = h
	pipes := fds[2:]
	for side := range r.Sides {
		s, p := &r.Sides[side], &c.pipes[side]
		if s.TCP {
			c.sockets[side].InitTCP(w.loop, fds[side])
		} else {
			c.sockets[side].InitStream(w.loop, fds[side])
		}
		c.sides[side] = sideState(s.State)
		p.conn, p.from, p.state, p.bytes, p.skipped = c, uint8(side), pipeState(s.Flow), s.Bytes, s.Skipped
		h.rest[side].bytes = slices.Clone(unsent[:s.Unsent])
		unsent = unsent[s.Unsent:]
		if t := s.Throttle; t != nil {
			h.rest[side].refill, h.rest[side].wait = now+int64(t.Refill), now+int64(t.Wait)
		}
		if s.Piped != 0 {
			if err := h.rest[side].tube.Attach(w.loop, pipes[0], pipes[1], s.Piped); err != nil {
				discard(w, pipes[:2]...)
				_ = h.postponed(reasonInternal, bothSides)
			}
			pipes = pipes[2:]
		}
	}
	countSource(c)
	w.insert(&c.links, connMembers)
	return c, nil
}

// insert puts a connection or session of another process in its place among the others: the newest, which has the
// largest id, is the first.
func (w *worker) insert(l *intrusive.Links, members *memberList) {
	list, id := members.list(w), members.of(l).common().id
	before := list.Last()
	for before != nil && members.of(before).common().id < id {
		before = before.Prev()
	}
	list.InsertBehind(before, l)
}

// takenConfig returns the settings of the backend with those that a connection of another process has.
func (b *backend) takenConfig(s *handover.Settings) *config.Backend {
	if handover.SettingsOf(b.config) == *s {
		return b.config
	}
	c := b.takenConfigs[*s]
	if c == nil {
		c = s.Apply(*b.config)
		if b.takenConfigs == nil || len(b.takenConfigs) == maxRouteConfigs {
			b.takenConfigs = map[handover.Settings]*config.Backend{}
		}
		b.takenConfigs[*s] = c
	}
	return c
}
