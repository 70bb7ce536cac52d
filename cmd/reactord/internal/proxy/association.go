package proxy

import (
	"cmp"
	"fmt"
	"net/netip"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/accesslog"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/tlscause"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// association joins a client of a listener with the server that it gets. It is what a connection and a UDP session have
// in common, and counts in the limits of both.
type association struct {
	listener *listener
	backend  *backend         // nil until the backend is known
	config   *config.Backend  // of the backend when it was chosen, with the limits of the route
	server   *upstream.Server // that is tried or connected, and in whose Load it counts
	id       uint64
	links    intrusive.Links // among the connections or the sessions of the worker
	began    int64
	leaving  *leaving     // while it rests, to be continued elsewhere
	sources  *sourceHolds // nil if no limit by source counts it
	counted  bool         // in the Load of the backend
	why      closeReason
	cause    tlscause.Cause // why TLS has failed last
}

// associate begins an association with a client for which room was taken.
func (l *listener) associate() association {
	return association{listener: l, id: l.worker.nextID(), began: l.worker.loop.Now()}
}

// nextID returns an id that no other association has, in this process or in those before it.
func (w *worker) nextID() uint64 {
	return w.proxy.firstID + w.ids.Add(1)*uint64(len(w.proxy.workers)) + uint64(w.index)
}

func (a *association) worker() *worker { return a.listener.worker }

func (a *association) loop() *reactor.Loop { return a.listener.worker.loop }

func (a *association) age() time.Duration { return time.Duration(a.loop().Now() - a.began) }

// assign sets the backend, and the settings that it has for a route. by is nil if no route has matched.
func (a *association) assign(to *upstream.Backend, by *route) {
	a.backend = a.worker().backend(to)
	a.config = a.backend.configFor(by)
}

// errPaused is [balance.ErrNoServer] because an operator has paused the backend.
var errPaused = fmt.Errorf("the backend is paused: %w", balance.ErrNoServer)

// take takes room in the backend, unless it has that already, and at a server. The error matches [balance.ErrFull] if
// there may be room later.
func (a *association) take(r *balance.Request) error {
	b := a.backend.upstream
	if b.Paused() {
		return errPaused
	}
	if !a.counted {
		if !b.Load.Take() {
			return balance.ErrFull
		}
		a.counted = true
	}
	g := b.Group()
	i, err := a.backend.pick(g, r)
	if err != nil {
		return err
	}
	a.server = g.Servers[i]
	return nil
}

// giveServer gives back the room at the server.
func (a *association) giveServer() {
	if a.server != nil {
		a.server.Load.Give()
		a.server = nil
		a.backend.shared.waiters.Wake()
	}
}

// drop gives back the room in the backend of an association for which no server has room, so that another one can have
// it. No other is woken: there is no room for it either.
func (a *association) drop() {
	if a.counted {
		a.counted = false
		a.backend.upstream.Load.Give()
	}
}

// give gives back all that take has taken.
func (a *association) give() {
	a.giveServer()
	if a.counted {
		a.drop()
		a.backend.shared.waiters.Wake()
	}
}

// release ends an association that is in a list of its worker, and that has moved bytes: it counts the end, and makes
// room for another one.
func (a *association) release(list *intrusive.List, moved [2]uint64) {
	w, l := a.worker(), a.listener
	a.give()
	if a.why == reasonMoved {
		a.releaseSources(nothing)
	} else {
		a.releaseSources(moved)
		took := w.loop.Now() - a.began
		l.stats.closed[a.why].Add(1)
		l.stats.duration.Observe(took)
		w.totals.duration.Observe(took)
	}
	w.forget(&a.links, list)
	if w.forFD.length != 0 {
		w.retryWaiting() // before the listener accepts another connection
	}
	l.connClosed()
}

// connected notes that the server was reached, by an attempt from began to now.
func (a *association) connected(began, now int64) {
	a.server.Connected(began, now)
	a.worker().totals.connectTime.Observe(now - began)
}

// firstByte notes that the server has sent its first byte.
func (a *association) firstByte(now int64) {
	a.listener.stats.firstByte.Observe(now - a.began)
	a.worker().totals.firstByte.Observe(now - a.began)
}

func (a *association) backendName() string {
	if a.backend == nil {
		return ""
	}
	return a.backend.upstream.Name
}

func (a *association) serverName() string {
	if a.server == nil {
		return ""
	}
	return a.server.Name()
}

func (a *association) serverAddr() serveraddr.Addr {
	if a.server == nil {
		return serveraddr.Addr{}
	}
	return a.server.Address
}

// line begins the line of an association in the access log, with all that is known of it here.
func (a *association) line() *accesslog.Record {
	r := a.listener.line(a.id, a.age())
	if a.backend != nil {
		r.Backend, r.BackendConnections = a.backend.upstream.Name, a.backend.upstream.Load.N()
	}
	if a.server != nil {
		r.Server, r.ServerAddress, r.ServerConnections = a.server.Name(), a.server.Address, a.server.Load.N()
	}
	return r
}

// line begins a line of the access log with what all lines of a listener have. It is the worker's, until the next one.
func (l *listener) line(id uint64, age time.Duration) *accesslog.Record {
	w, now := l.worker, time.Now()
	w.logLine = accesslog.Record{
		ID: id, Network: cmp.Or(l.shared.key.Network, config.TCPNetwork), Listener: l.name(),
		Accepted: now.Add(-age), Ended: now, Total: age,
		Connections: int(w.proxy.Open()), ListenerConnections: int(l.stats.current.Load()),
	}
	for i := range w.logLine.Phases {
		w.logLine.Phases[i] = accesslog.NotReached
	}
	return &w.logLine
}

// member is a connection or a UDP session of a worker, as lists, filters and logs see it.
type member interface {
	common() *association
	clientAddr() netip.AddrPort // as far as it is trusted and known
	clientName() string         // the same for people
	phaseName() string          // see [Connection]
	idleFor() time.Duration
	moved() (bytes [2]uint64) // from the client, from the server
	over() bool
	awaitsHeader() bool // a PROXY header has to tell the client
	reset(why closeReason)
}

func (a *association) common() *association { return a }

// debug begins a log entry about m, which is written with names. It is nil if nothing is logged: check that before
// making fields, because there may be a great many entries.
func (a *association) debug(msg string) *zapcore.CheckedEntry {
	return a.worker().proxy.log.Check(zap.DebugLevel, msg)
}

// names returns the fields that identify m.
func names(m member) zap.Field {
	a := m.common()
	return zap.Dict("connection", zap.Uint64("id", a.id), zap.String("listener", a.listener.name()),
		zap.String("client", m.clientName()), zap.String("server", a.serverName()))
}

// debugEnd logs that m ends.
func debugEnd(m member) {
	a := m.common()
	if entry := a.debug("closing"); entry != nil {
		bytes := m.moved()
		entry.Write(names(m), zap.Stringer("why", a.why), zap.Duration("after", a.age()),
			zap.Uint64("from_client", bytes[client]), zap.Uint64("from_server", bytes[server]))
	}
}

// warnNoServer counts an association without a server, and logs one a second of the backend.
func (a *association) warnNoServer(why closeReason, err error) {
	q := a.backend.shared
	q.noServer.Add(1)
	if q.noServerLog.due(a.loop().Now()) {
		a.worker().proxy.log.Warn("no server available", zap.String("backend", a.backend.upstream.Name),
			zap.Stringer("end", why), zap.String("why", closeReasons[why].Why), zap.NamedError("last", err))
	}
}

// warnRefused logs one refused client a second of the listener. To learn its address may be a system call.
func (l *listener) warnRefused(client func() netip.AddrPort, why closeReason, err error) {
	if l.stats.logged.due(l.worker.loop.Now()) {
		l.worker.proxy.log.Warn("connection refused", zap.String("listener", l.name()),
			zap.Stringer("client", client()), zap.Stringer("why", why), zap.Error(err))
	}
}
