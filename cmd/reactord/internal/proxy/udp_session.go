package proxy

import (
	"errors"
	"net/netip"
	"time"
	"unsafe"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/accesslog"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/udp"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/proxyproto"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
)

// session is a UDP session as an association. It has a server from the beginning: sessions do not wait in queues.
type session struct {
	udp.Session
	association
	localAddr *localAddr // nil if the kernel chooses
	client    netip.AddrPort
	local     netip.AddrPort // that the client has asked
	route     string         // "": none has matched
	answered  int64          // when the server's first datagram came; 0: none has
	err       error          // why the server did not take datagrams
	logged    bool           // there is a line in the access log at the end
}

func sessionOf(l *intrusive.Links) *session {
	return intrusive.Owner[session](l, unsafe.Offsetof(session{}.links))
}

// beginSession makes a session for which room was taken, and which held counts among those of its source. It returns
// nil if no server takes it.
func (l *listener) beginSession(s *settings, from, local netip.AddrPort, held sourceHolds) *udp.Session {
	w, a := l.worker, l.associate()
	a.holdSources(held)
	l.stats.accepted.Add(1)
	q := routeRequest{client: unmapped(from), destination: unmapped(local)}
	to, refused := s.choose(&q)
	if q.route = to.route; refused != nil {
		return a.refuseSession(s, &q, refused.why, refused.err)
	}
	a.assign(to.targets.draw(&w.random), q.route)
	a.backend.upstream.Began(a.began)
	if err := a.take(&balance.Request{ClientAddr: q.client.Addr()}); err != nil {
		why := reasonNoneAvailable
		if errors.Is(err, balance.ErrFull) {
			why = reasonQueueFull
		}
		a.warnNoServer(why, nil)
		return a.refuseSession(s, &q, why, nil)
	}
	x := &session{
		association: a, client: q.client, local: q.destination, route: q.route.nameOrEmpty(), logged: s.AccessLog,
	}
	var ends int64
	if x.config.Lifetime > 0 {
		ends = lifeEnds(x.began, x.id, x.config)
	}
	x.Init(x, s.udp, x.server.Address.AddrPort(), x.header(), ends)
	l.stats.current.Add(1)
	w.open.Add(1)
	w.accepted.Add(1)
	w.proxy.sessions.Add(1)
	w.sessions.PushFront(&x.links)
	return &x.Session
}

// refuseSession counts and logs a session that there is no server for, and gives back its room.
func (a *association) refuseSession(s *settings, q *routeRequest, why closeReason, err error) *udp.Session {
	l := a.listener
	if err != nil {
		l.warnRefused(q.clientAddr, why, err)
	}
	a.why = why
	a.countFailure(closeReasons[why])
	a.give()
	a.releaseSources(nothing)
	l.stats.closed[why].Add(1)
	if log := l.worker.accessLog; log != nil && s.AccessLog {
		r := a.line()
		r.Client, r.Peer, r.Local, r.Route = q.client, q.client, q.destination, q.route.nameOrEmpty()
		r.End, r.Err = closeReasons[why], err
		log.Log(r)
	}
	l.admission.Give()
	return nil
}

// header returns the PROXY header in front of each datagram, if the backend asks for one.
func (x *session) header() []byte {
	if x.config.ProxyProtocol.Version != config.ProxyV2 {
		return nil
	}
	h := proxyproto.Header{Version: 2, Datagram: true, Source: x.client, Destination: x.local}
	for _, kind := range x.config.ProxyProtocol.TLVs {
		if kind == config.TLVCRC32C {
			h.TLVs = proxyproto.AppendTLV(h.TLVs, proxyproto.CRC32C, make([]byte, 4))
		}
	}
	return proxyproto.Append(nil, &h)
}

// Bind gives the server's socket a local address, if the backend has some.
func (x *session) Bind(s *reactor.Socket) error {
	if x.localAddr = x.backend.localAddrsTo(x.server.Address).next(x.loop().Now()); x.localAddr != nil {
		return x.localAddr.bind(s)
	}
	return nil
}

// Answered notes the first datagram of the server: until it comes, the server is not known to be there.
func (x *session) Answered() {
	x.answered = x.loop().Now()
	x.connected(x.began, x.answered)
	x.firstByte(x.answered)
}

// Refused notes that the server does not take datagrams.
func (x *session) Refused(err error) {
	if noPort(err) && x.localAddr != nil {
		x.localAddr.exhaustedUntil = x.loop().Now() + int64(reactor.AcceptBackoff)
	}
	x.err = err
	x.server.Failed(err)
	if entry := x.debug("cannot send to a server"); entry != nil {
		entry.Write(names(x), zap.Error(err))
	}
}

// reset ends the session.
func (x *session) reset(why closeReason) {
	if x.Over() || x.leaving != nil && x.leaving.postponed(why, noSide) {
		return
	}
	x.why = why
	x.dropRest()
	x.End(udp.WhyOwner)
}

// reasonOf returns why the session has ended, for the counters and the log.
func (x *session) reasonOf(why udp.Why) closeReason {
	switch why {
	case udp.WhyIdle:
		return reasonIdle
	case udp.WhyLifetime:
		return reasonLifetime
	case udp.WhyRefused:
		return reasonNoServer
	case udp.WhyReset:
		return reasonServerReset
	case udp.WhyLocal:
		return reasonLocal
	case udp.WhyOwner:
		switch {
		case x.why != reasonNormal:
			return x.why
		case x.worker().state == workerClosed:
			return reasonKilled
		}
		return reasonDrain
	}
	return reasonNormal
}

// Ended gives back what the session has, and makes room for another one.
func (x *session) Ended(why udp.Why) {
	w := x.worker()
	if x.why = x.reasonOf(why); x.why != reasonMoved {
		debugEnd(x)
		if !x.why.isExpected() {
			x.countFailure(x.why.inPhase(x.phaseName()))
		}
		x.logEnd()
	}
	w.proxy.sessions.Add(-1)
	x.release(&w.sessions, x.moved())
}

// logEnd writes the line of the session to the access log, if there is one.
func (x *session) logEnd() {
	log := x.worker().accessLog
	normal := x.why == reasonNormal || x.why == reasonIdle && x.answered != 0
	if log == nil || !x.logged || !x.logs(log.Settings(), normal) {
		return
	}
	r := x.line()
	r.Client, r.Peer, r.Local, r.Route = x.client, x.client, x.local, x.route
	r.Datagrams, r.Bytes = x.Moved()
	r.Err, r.Attempts, r.End = x.err, 1, x.why.inPhase(x.phaseName())
	if x.answered != 0 {
		r.Phases[accesslog.Connect] = time.Duration(max(x.answered-x.began, 1))
	}
	log.Log(r)
}

func (x *session) over() bool { return x.Over() }

func (x *session) moved() (bytes [2]uint64) {
	_, bytes = x.Moved()
	return bytes
}

func (x *session) idleFor() time.Duration {
	l := x.loop()
	return time.Duration(l.Now() - l.Stalled() - x.IdleSince())
}

func (x *session) clientAddr() netip.AddrPort { return x.client }

func (x *session) clientName() string { return x.client.String() }

// phaseName returns the phase for people. A session is connected when the server has answered.
func (x *session) phaseName() string {
	if x.answered == 0 {
		return "connect"
	}
	return "data"
}
