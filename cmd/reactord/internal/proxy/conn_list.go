package proxy

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/sender"
)

// Connection is an open connection, for people.
type Connection struct {
	ID         uint64 // unique in the process
	Listener   string
	Backend    string         // "": it is not known yet
	Server     string         // "": none is chosen yet
	Address    netip.AddrPort // of the server; zero: likewise
	Client     netip.AddrPort // zero: the client has reset the connection, or has no address
	ClientName string         // the same for people: "unix" if it came by a unix socket
	Age        time.Duration
	Idle       time.Duration // since the last byte
	FromClient uint64        // bytes
	FromServer uint64
	Phase      string // "opening", "queue", "connect", "greeting", "data", "last_data": one side has sent EOF or was reset
}

// Filter says which connections are meant: those for which all of it holds. The zero Filter means all connections.
type Filter struct {
	ID        uint64 // 0: any
	Before    uint64 // only smaller ids; 0: any
	Listener  string // "": any
	Backend   string
	Server    string         // the name
	Address   netip.AddrPort // of the server; zero: any
	Client    netip.Prefix   // the client's address is in it; zero: any
	OlderThan time.Duration  // open for longer than that
	IdleFor   time.Duration  // no byte for longer than that
}

// Connections lists open connections, those with the largest ids first, and at most limit of them (0: all). The
// connections behind the last one are those with Filter.Before set to its id. If ctx is done first, it returns its
// error. It may be called from any goroutine.
func (p *Proxy) Connections(ctx context.Context, f Filter, limit int) ([]Connection, error) {
	found := make([][]Connection, len(p.workers)) // each by its own loop, where the newest are first
	err := p.visit(ctx, func(c *conn) bool {
		own := &found[c.worker().index]
		if f.matches(c) {
			*own = append(*own, c.describe())
		}
		return limit == 0 || len(*own) < limit
	})
	if err == nil {
		err = p.visitSessions(ctx, func(x *session) bool {
			own := &found[x.listener.worker.index]
			if f.matchesSession(x) {
				*own = append(*own, x.describe())
			}
			return limit == 0 || len(*own) < 2*limit
		})
	}
	if err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b Connection) int { return cmp.Compare(b.ID, a.ID) })
	if limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	return all, nil
}

// CloseConnections resets open connections, and returns how many. If ctx is done first, it returns its error; some are
// closed then. It may be called from any goroutine.
func (p *Proxy) CloseConnections(ctx context.Context, f Filter) (n int, err error) {
	counts := make([]int, len(p.workers))
	err = p.visit(ctx, func(c *conn) bool {
		if c.phase != phaseClosed && f.matches(c) {
			counts[c.worker().index]++
			c.close(endAdmin, bothSides)
		}
		return true
	})
	if err == nil {
		err = p.visitSessions(ctx, func(x *session) bool {
			if f.matchesSession(x) {
				counts[x.listener.worker.index]++
				x.close(endAdmin)
			}
			return true
		})
	}
	if err != nil {
		return 0, err
	}
	for _, k := range counts {
		n += k
	}
	return n, nil
}

// serverDown resets the connections to a server that has gone down.
func (p *Proxy) serverDown(s *upstream.Server) {
	p.closeServer(s)
	if p.onDown != nil {
		p.onDown(s.Backend.Name, s.Address)
	}
}

// closeServer resets the connections to a server. From any thread.
func (p *Proxy) closeServer(s *upstream.Server) {
	p.walkAll(connsOf, func(l *intrusive.Links) bool {
		if c := connOf(l); c.to == s && (c.phase == phaseFlowing || c.phase == phaseDraining) {
			c.close(endServerDown, bothSides)
		}
		return true
	}, func() {})
	p.walkAll(sessionsOf, func(l *intrusive.Links) bool {
		if x := sessionOf(l); x.to == s {
			x.close(endServerDown)
		}
		return true
	}, func() {})
}

// matches reports whether the filter means c.
func (f *Filter) matches(c *conn) bool {
	switch {
	case c.phase == phaseClosed,
		f.ID != 0 && f.ID != c.id,
		f.Before != 0 && f.Before <= c.id,
		f.Listener != "" && f.Listener != c.listener.name(),
		f.Backend != "" && f.Backend != c.backendName(),
		f.Server != "" && f.Server != c.serverName(),
		f.Address.IsValid() && f.Address != c.serverAddr(),
		f.OlderThan > 0 && c.age() <= f.OlderThan,
		f.IdleFor > 0 && c.idleFor() <= f.IdleFor:
		return false
	case f.Client.IsValid():
		return f.Client.Contains(c.clientAddr().Addr())
	}
	return true
}

// matchesSession reports whether the filter means x.
func (f *Filter) matchesSession(x *session) bool {
	switch {
	case x.Over(),
		f.ID != 0 && f.ID != x.id,
		f.Before != 0 && f.Before <= x.id,
		f.Listener != "" && f.Listener != x.listener.name(),
		f.Backend != "" && f.Backend != x.lane.backend.Name,
		f.Server != "" && f.Server != x.to.Name(),
		f.Address.IsValid() && f.Address != x.to.Address,
		f.OlderThan > 0 && x.age() <= f.OlderThan,
		f.IdleFor > 0 && x.idleFor() <= f.IdleFor,
		f.Client.IsValid() && !f.Client.Contains(x.client.Addr()):
		return false
	}
	return true
}

func (c *conn) describe() Connection {
	return Connection{
		ID: c.id, Listener: c.listener.name(), Backend: c.backendName(), Server: c.serverName(),
		Address: c.serverAddr(), Client: c.clientAddr(), ClientName: c.clientName(), Age: c.age(), Idle: c.idleFor(),
		FromClient: c.pipes[client].bytes, FromServer: c.pipes[server].bytes, Phase: c.phaseName(),
	}
}

func (c *conn) age() time.Duration { return time.Duration(c.loop().Now() - c.began) }

// idleFor is the time since the last byte.
func (c *conn) idleFor() time.Duration {
	if c.phase <= phaseConnecting {
		return c.age()
	}
	return time.Duration(c.time() - c.active)
}

func (c *conn) backendName() string {
	if c.lane == nil {
		return ""
	}
	return c.lane.backend.Name
}

func (c *conn) serverName() string {
	if c.to == nil {
		return ""
	}
	return c.to.Name()
}

func (c *conn) serverAddr() netip.AddrPort {
	if c.to == nil {
		return netip.AddrPort{}
	}
	return c.to.Address
}

// phaseName is the phase for people, and for [Connection].
func (c *conn) phaseName() string {
	switch {
	case c.phase == phaseOpening:
		return "opening"
	case c.phase == phaseConnecting && c.dial.queued():
		return "queue"
	case c.phase == phaseConnecting && c.dial.reached != 0:
		return "greeting"
	case c.phase == phaseConnecting:
		return "connect"
	case c.phase == phaseFlowing && !c.halfClosed():
		return "data"
	}
	return "last_data"
}

// visit calls f for the connections of all workers, on their loops, until f returns false. It returns when that is done
// or, with its error, when ctx is done.
func (p *Proxy) visit(ctx context.Context, f func(*conn) bool) error {
	return p.visitAll(ctx, connsOf, func(l *intrusive.Links) bool { return f(connOf(l)) })
}

// visitSessions is visit for UDP sessions.
func (p *Proxy) visitSessions(ctx context.Context, f func(*session) bool) error {
	return p.visitAll(ctx, sessionsOf, func(l *intrusive.Links) bool { return f(sessionOf(l)) })
}

func connsOf(w *worker) *intrusive.List    { return &w.conns }
func sessionsOf(w *worker) *intrusive.List { return &w.sessions }

func (p *Proxy) visitAll(ctx context.Context, list func(*worker) *intrusive.List, f func(*intrusive.Links) bool) error {
	done := make(chan struct{}, len(p.workers))
	p.walkAll(list, func(l *intrusive.Links) bool { return ctx.Err() == nil && f(l) }, func() { done <- struct{}{} })
	for range p.workers {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// walkAll walks on all loops. done is called when a walk has ended, once for each loop. From any thread.
func (p *Proxy) walkAll(list func(*worker) *intrusive.List, visit func(*intrusive.Links) bool, done func()) {
	for _, w := range p.workers {
		k := &walk{worker: w, list: list(w), visit: visit, done: done}
		k.Runner = k
		w.loop.Enqueue(&k.Work)
	}
}

// walk visits the connections of a worker, a few in each turn of the loop, so that what is ready does not wait for
// long. It does not visit connections that are accepted meanwhile.
type walk struct {
	sender.Work
	worker *worker
	list   *intrusive.List             // connections or sessions
	visit  func(*intrusive.Links) bool // false: the walk ends
	done   func()
	next   *intrusive.Links // the one to be visited next
	begun  bool
}

// walkTurn is how many connections a walk visits in a turn of the loop.
const walkTurn = 256

// Run visits some connections.
func (k *walk) Run() {
	w := k.worker
	if !k.begun {
		k.begun = true
		k.next = k.list.First()
		w.walks = append(w.walks, k)
	}
	for range walkTurn {
		if k.next == nil {
			break
		}
		l := k.next
		k.next = l.Next()
		if !k.visit(l) {
			k.next = nil
		}
	}
	if k.next != nil {
		w.loop.Enqueue(&k.Work)
		return
	}
	k.end()
}

// Abandon ends the walk: the loop has ended, and its connections have. One that has not begun is abandoned on any
// thread.
func (k *walk) Abandon(error) {
	if !k.begun {
		k.done()
		return
	}
	k.end()
}

func (k *walk) end() {
	w := k.worker
	w.walks = slices.DeleteFunc(w.walks, func(other *walk) bool { return other == k })
	k.done()
}

// forget takes a connection out of the worker's. Walks that would visit it next visit the one behind it.
func (w *worker) forget(c *conn) { w.forgetLinks(&c.links, &w.conns) }

func (w *worker) forgetLinks(l *intrusive.Links, list *intrusive.List) {
	for _, k := range w.walks {
		if k.next == l {
			k.next = l.Next()
		}
	}
	list.Remove(l)
}
