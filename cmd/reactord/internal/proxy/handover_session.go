package proxy

import (
	"errors"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/handover"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/udp"
)

// A session of UDP moves with its socket for the server, which that knows it by. The listener's sockets are those of
// both processes: datagrams of clients wait in them from when the old process has stopped receiving until its sessions
// have come to the new one.

var _ movable = (*session)(nil)

func (x *session) canRest() (stays stayReason, can bool) {
	switch {
	case x.leaving != nil:
		return staysBusy, false
	case !x.CanRest():
		return staysSetup, false
	}
	return 0, true
}

func (x *session) comeToRest(batch *offers) {
	h := x.beginRest(x, batch, 1)
	x.Rest().Connect(&h.ops[0], h)
	h.ops[0].Start()
}

func (x *session) atRest() bool { return true }

func (x *session) record() (r handover.Record, fds []int, unsent [2][]byte) {
	r = x.beginRecord()
	r.Needs, r.Idle = []string{handover.NeedsUDP}, x.idleFor()
	now, ends, is, settings := x.loop().Now(), x.Ends(), x.Snapshot(), x.Settings()
	s := &handover.Session{
		Client: is.Client, Local: is.Local, PacketInfo: is.PacketInfo, Socket: is.Socket,
		Destination: x.local, Route: x.route, Header: x.Header(), Logged: x.logged,
		Datagrams: is.Datagrams, Bytes: is.Bytes, Requests: is.Requests, Responses: is.Responses,
		Confirmed: is.Confirmed, Bound: is.Bound,
		IdleTimeout: settings.Idle, MostRequests: settings.Requests, ResponsesEach: settings.Responses,
	}
	if ends != 0 {
		s.Left = time.Duration(max(ends-now, 1))
	}
	if x.answered != 0 {
		s.Answered = time.Duration(max(now-x.answered, 1))
	}
	r.Session = s
	return r, []int{x.FD()}, unsent
}

func (x *session) carryOn() {
	h, w := x.leaving, x.worker()
	ends, why := h.ends, h.why
	x.leaving = nil
	w.leavings.Put(h)
	switch {
	case ends:
		x.reset(why)
	case w.state == workerClosed:
		x.reset(reasonKilled)
	default:
		x.Resume()
	}
}

func (x *session) leave() {
	x.leaving.batch = nil
	x.why = reasonMoved
	x.dropRest()
	x.End(udp.WhyOwner)
}

// arriveSession makes a session of its record, with the socket for its server. Nothing is done with that yet.
func (w *worker) arriveSession(r *handover.Record, fd int) (*session, error) {
	p, s, now := w.proxy, r.Session, w.loop.Now()
	shared := p.table.Load().byKey[r.Listener]
	if shared == nil || !shared.isUDP() || !shared.loops[w.index].udp.Accepts() {
		return nil, errNoListener
	}
	l, of := shared.loops[w.index], p.serverFor(r)
	x := &session{
		association: association{
			listener: l, backend: w.backend(of.Backend), server: of, id: r.ID, began: now - int64(r.Age), counted: true,
		},
		client: unmapped(s.Client), local: s.Destination, route: s.Route, logged: s.Logged,
	}
	x.config = x.backend.takenConfig(&r.Settings)
	if s.Answered != 0 {
		x.answered = now - int64(s.Answered)
	}
	var ends int64
	if s.Left != 0 {
		ends = now + int64(s.Left)
	}
	settings := &udp.Settings{Idle: s.IdleTimeout, Requests: s.MostRequests, Responses: s.ResponsesEach}
	x.Init(x, settings, of.Address.AddrPort(), s.Header, ends)
	is := udp.Snapshot{
		Client: s.Client, Local: s.Local, PacketInfo: s.PacketInfo, Socket: s.Socket,
		Datagrams: s.Datagrams, Bytes: s.Bytes, Requests: s.Requests, Responses: s.Responses,
		Confirmed: s.Confirmed, Bound: s.Bound,
	}
	if err := l.udp.Arrive(&x.Session, &is, fd, now-w.loop.Stalled()-int64(r.Idle)); err != nil {
		return nil, err
	}
	of.Backend.Load.Force()
	of.Load.Force()
	l.admission.Force()
	countSource(x)
	l.stats.current.Add(1)
	w.open.Add(1)
	p.sessions.Add(1)
	x.leaving = w.leavings.Get()
	*x.leaving = leaving{worker: w, of: x, state: leavingArrived, rested: r.Rested}
	w.insert(&x.links, sessionMembers)
	return x, nil
}

var errNoListener = errors.New("its listener is gone")

// receivesDatagrams reports whether a listener of UDP still receives.
func (w *worker) receivesDatagrams() bool {
	for _, l := range w.listeners {
		if l.udp != nil && l.udp.Receiving() {
			return true
		}
	}
	return false
}

// awaitSessions notes that sessions of UDP may come: clients' datagrams wait until all are there.
func (h *handovers) awaitSessions() { h.sessions.Add(1) }

// sessionsCame notes that no more of the awaited sessions come.
func (p *Proxy) sessionsCame() {
	if p.handovers.sessions.Add(-1) == 0 {
		p.each((*worker).receiveDatagrams)
	}
}

// receiveDatagrams begins to receive, unless sessions are awaited.
func (w *worker) receiveDatagrams() {
	if w.proxy.handovers.sessions.Load() != 0 {
		return
	}
	for _, l := range w.listeners {
		if l.udp != nil && l.state == listenerServing {
			l.udp.Receive()
		}
	}
}
