package proxy

import (
	"errors"
	"net/netip"
	"time"
	"unsafe"

	"github.com/reactord/reactord/cmd/reactord/internal/accesslog"
	"github.com/reactord/reactord/cmd/reactord/internal/balance"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxyproto"
	"github.com/reactord/reactord/cmd/reactord/internal/udp"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
)

// session is what the proxy keeps of a UDP session, which is a connection to everything that counts, limits and lists
// them. It has a server from the beginning: sessions do not wait in queues.
type session struct {
	udp.Session
	listener *listener
	lane     *lane
	settings *config.Backend
	to       *upstream.Server // the session has one of its Load, and one of the backend's
	from     *source          // the local address; nil: the kernel chooses
	id       uint64
	links    intrusive.Links // among the sessions of the worker
	client   netip.AddrPort
	local    netip.AddrPort // that the client has asked
	route    string         // "": none has matched
	began    int64
	answered int64 // when the server's first datagram came; 0: none has
	err      error // why the server did not take datagrams
	why      end   // if the owner has ended it
	logged   bool  // there is a line in the access log at the end
}

func sessionOf(l *intrusive.Links) *session {
	return intrusive.Owner[session](l, unsafe.Offsetof(session{}.links))
}

// beginSession makes a session for which room was taken; nil: there is no server for it.
func (l *listener) beginSession(s *settings, from, local netip.AddrPort) *udp.Session {
	w := l.worker
	now := w.loop.Now()
	l.stats.accepted.Add(1)
	none := accesslog.Record{Client: unmapped(from), Local: unmapped(local)}
	backend, by := s.router.fallback, s.router.route(&asked{source: none.Client, destination: none.Local})
	if by != nil {
		backend, none.Route = by.to.draw(&w.random), by.name
	}
	switch {
	case by != nil && !by.allowed(none.Client.Addr()):
		return l.noSession(s, none, endDenied, errRouteDenied)
	case backend == nil:
		return l.noSession(s, none, endNoRoute, errNoRoute)
	}
	lane := w.lane(backend)
	lane.backend.Began(now)
	none.Backend, none.BackendConnections = backend.Name, backend.Load.N()
	to, err := lane.takeServer(&balance.Request{Source: from.Addr().Unmap()})
	switch {
	case errors.Is(err, balance.ErrFull):
		return lane.noServer(l, s, none, endQueueFull)
	case err != nil:
		return lane.noServer(l, s, none, endNoneAvailable)
	}
	x := &session{
		listener: l, lane: lane, settings: lane.settingsFor(by), to: to, id: w.nextID(), client: unmapped(from), began: now,
		local: unmapped(local), route: none.Route, logged: s.AccessLog,
	}
	var ends int64
	if x.settings.Lifetime > 0 {
		ends = lifeEnds(now, x.id, x.settings)
	}
	x.Init(x, s.udp, to.Address, x.header(local), ends)
	l.stats.current.Add(1)
	w.open.Add(1)
	w.proxy.sessions.Add(1)
	w.sessions.PushFront(&x.links)
	return &x.Session
}

// noServer ends a session of the backend before it has begun, and says so once a second.
func (l *lane) noServer(of *listener, s *settings, line accesslog.Record, why end) *udp.Session {
	l.queue.noServer.Add(1)
	if l.queue.logged.due(l.worker.loop.Now()) {
		l.worker.proxy.log.Warn("connections get no server", zap.String("backend", l.backend.Name),
			zap.Stringer("end", why), zap.String("why", ends[why].Why))
	}
	return of.noSession(s, line, why, nil)
}

// noSession counts and logs a session that there is no server for, and gives back its room.
func (l *listener) noSession(s *settings, line accesslog.Record, why end, err error) *udp.Session {
	w := l.worker
	if err != nil && l.stats.logged.due(w.loop.Now()) {
		w.proxy.log.Warn("a connection is refused", zap.String("listener", l.name()),
			zap.Stringer("client", line.Client), zap.Stringer("why", why), zap.Error(err))
	}
	l.stats.closed[why].Add(1)
	if w.accessLog != nil && s.AccessLog {
		line.ID, line.End, line.Err = w.nextID(), ends[why], err
		l.logSession(&line)
	}
	l.admission.Give()
	return nil
}

// logSession writes a line, with what all lines of sessions have.
func (l *listener) logSession(line *accesslog.Record) {
	w := l.worker
	r := &w.line
	*r = *line
	r.Network, r.Listener, r.Peer = "udp", l.name(), line.Client
	r.Connections, r.ListenerConnections = int(w.proxy.Open()), int(l.stats.current.Load())
	r.Ended = time.Now()
	r.Accepted = r.Ended.Add(-r.Total)
	for i := range r.Phases {
		if r.Phases[i] == 0 {
			r.Phases[i] = accesslog.NotReached
		}
	}
	w.accessLog.Log(r)
}

// header is the PROXY header in front of each datagram, if the backend asks for one.
func (x *session) header(local netip.AddrPort) []byte {
	if x.settings.ProxyProtocol.Version != "v2" {
		return nil
	}
	h := proxyproto.Header{Version: 2, Datagram: true, Source: x.client, Destination: unmapped(local)}
	for _, kind := range x.settings.ProxyProtocol.TLVs {
		if kind == "crc32c" {
			h.TLVs = proxyproto.AppendTLV(h.TLVs, proxyproto.CRC32C, make([]byte, 4))
		}
	}
	return proxyproto.Append(nil, &h)
}

// takeServer takes room for a session, in the backend and at a server. The error matches balance.ErrFull if there may
// be room later.
func (l *lane) takeServer(r *balance.Request) (*upstream.Server, error) {
	if !l.backend.Load.Take() {
		return nil, balance.ErrFull
	}
	g := l.backend.Group()
	i, err := l.picker.Pick(g.Group, r)
	if err != nil {
		l.backend.Load.Give()
		return nil, err
	}
	return g.Servers[i], nil
}

// Bind gives the server's socket a local address, if the backend has some.
func (x *session) Bind(s *reactor.Socket) error {
	if x.from = x.lane.sources[familyOf(x.to.Address.Addr())].next(x.listener.worker.loop.Now()); x.from != nil {
		return x.from.bind(s)
	}
	return nil
}

// Answered is called when the first datagram of the server has come: until then it is not known to be there.
func (x *session) Answered() {
	x.answered = x.listener.worker.loop.Now()
	x.to.Connected(x.began, x.answered)
	x.listener.stats.firstByte.Observe(x.answered - x.began)
}

// Refused is called when the server does not take datagrams.
func (x *session) Refused(err error) {
	w := x.listener.worker
	if noPort(err) && x.from != nil {
		x.from.exhausted = w.loop.Now() + int64(reactor.AcceptBackoff)
	}
	x.err = err
	x.to.Failed(err)
	if entry := w.proxy.log.Check(zap.DebugLevel, "cannot send to a server"); entry != nil {
		entry.Write(x.names(), zap.Error(err))
	}
}

// close ends the session.
func (x *session) close(why end) {
	if !x.Over() {
		x.why = why
		x.End(udp.WhyOwner)
	}
}

// end is why the session has ended, for the counters and the log.
func (x *session) end(why udp.Why) end {
	switch why {
	case udp.WhyIdle:
		return endIdle
	case udp.WhyLifetime:
		return endLifetime
	case udp.WhyRefused:
		return endNoServer
	case udp.WhyReset:
		return endServerReset
	case udp.WhyLocal:
		return endLocal
	case udp.WhyOwner:
		switch {
		case x.why != endNormal:
			return x.why
		case x.listener.worker.state == workerClosed:
			return endKilled
		}
		return endDrain
	}
	return endNormal
}

// Ended gives back what the session has, and makes room for another one.
func (x *session) Ended(why udp.Why) {
	l := x.listener
	w := l.worker
	x.why = x.end(why)
	if entry := w.proxy.log.Check(zap.DebugLevel, "closing"); entry != nil {
		_, moved := x.Moved()
		entry.Write(x.names(), zap.Stringer("why", x.why), zap.Duration("after", x.age()),
			zap.Uint64("from_client", moved[client]), zap.Uint64("from_server", moved[server]))
	}
	x.logEnd()
	x.to.Load.Give()
	x.lane.backend.Load.Give()
	x.lane.queue.rooms.Wake()
	l.stats.closed[x.why].Add(1)
	l.stats.duration.Observe(w.loop.Now() - x.began)
	w.forgetLinks(&x.links, &w.sessions)
	if w.forFD.length != 0 {
		w.retryWaiting()
	}
	w.proxy.sessions.Add(-1)
	l.connClosed()
}

func (x *session) age() time.Duration { return time.Duration(x.listener.worker.loop.Now() - x.began) }

func (x *session) idleFor() time.Duration {
	l := x.listener.worker.loop
	return time.Duration(l.Now() - l.Stalled() - x.IdleSince())
}

// names are the fields that identify the session.
func (x *session) names() zap.Field {
	return zap.Dict("connection", zap.Uint64("id", x.id), zap.String("listener", x.listener.name()),
		zap.Stringer("client", x.client), zap.String("server", x.to.Name()))
}

// describe is the session for people.
func (x *session) describe() Connection {
	_, moved := x.Moved()
	return Connection{
		ID: x.id, Listener: x.listener.name(), Backend: x.lane.backend.Name, Server: x.to.Name(), Address: x.to.Address,
		Client: x.client, ClientName: x.client.String(), Age: x.age(), Idle: x.idleFor(), Phase: x.phaseName(),
		FromClient: moved[client], FromServer: moved[server],
	}
}

// phaseName is the phase for people. A session is connected when the server has answered.
func (x *session) phaseName() string {
	if x.answered == 0 {
		return "connect"
	}
	return "data"
}

// logEnd writes the line of the session to the access log, if there is one.
func (x *session) logEnd() {
	l := x.listener
	w := l.worker
	if w.accessLog == nil || !x.logged {
		return
	}
	datagrams, bytes := x.Moved()
	line := accesslog.Record{
		ID: x.id, Route: x.route, Backend: x.lane.backend.Name, Server: x.to.Name(), ServerAddress: x.to.Address,
		Client: x.client, Local: x.local, Total: x.age(), Bytes: bytes, Datagrams: datagrams, Err: x.err, Attempts: 1,
		BackendConnections: x.lane.backend.Load.N(), ServerConnections: x.to.Load.N(), End: x.why.logged(x.phaseName()),
	}
	if x.answered != 0 {
		line.Phases[accesslog.Connect] = time.Duration(max(x.answered-x.began, 1))
	}
	l.logSession(&line)
}
