package proxy

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/accesslog"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/sender"
)

// Connection is an open connection, for people.
type Connection struct {
	ID         uint64 // unique in the process
	Listener   string
	Backend    string          // "": it is not known yet
	Server     string          // "": none is chosen yet
	Address    serveraddr.Addr // of the server; zero until one is chosen
	Client     netip.AddrPort  // zero: the client has reset the connection, or has no address
	ClientName string          // the same for people: "unix" if it came by a unix socket
	Age        time.Duration
	Idle       time.Duration // since the last byte
	FromClient uint64        // bytes
	FromServer uint64
	Phase      string // "opening", "queue", "connect", "greeting", "data", "last_data": one side has sent EOF or was reset

	SNI string
	TLS uint16 // the version of TLS with the client, as crypto/tls has it; 0: it does not end here
	TCP [2]TCP // with the client and the server, if the list is to have it
}

// TCP describes a TCP connection.
type TCP = accesslog.TCP

// Filter says which connections are meant: those for which all of it holds. The zero Filter means all connections.
type Filter struct {
	ID        uint64 // 0: any
	Before    uint64 // only smaller ids; 0: any
	Listener  string // "": any
	Backend   string
	Server    string          // the name
	Address   serveraddr.Addr // of the server; zero: any
	Client    netip.Prefix    // the client's address is in it; zero: any
	OlderThan time.Duration   // open for longer than that
	IdleFor   time.Duration   // no byte for longer than that
}

// Connections lists open connections, those with the largest ids first, and at most limit of them (0: all). The
// connections behind the last one are those with Filter.Before set to its id. If ctx is done first, it returns its
// error. It may be called from any goroutine.
func (p *Proxy) Connections(ctx context.Context, f Filter, limit int) (all []Connection, err error) {
	return p.listConnections(ctx, walkBatch, f, limit, describe)
}

// ConnectionsWithTCP is [Proxy.Connections], and asks the kernel about the TCP connections with both sides of each.
func (p *Proxy) ConnectionsWithTCP(ctx context.Context, f Filter, limit int) (all []Connection, err error) {
	return p.listConnections(ctx, tcpBatch, f, limit, func(m member) Connection {
		d := describe(m)
		if c, ok := m.(*conn); ok {
			d.TCP = c.tcpInfo()
		}
		return d
	})
}

func (p *Proxy) listConnections(
	ctx context.Context, batch int, f Filter, limit int, describe func(member) Connection,
) (all []Connection, err error) {
	for _, members := range memberLists {
		found := make([][]Connection, len(p.workers)) // each by its own loop, where the newest are first
		err := p.visitBy(ctx, batch, members, func(m member) bool {
			own := &found[m.common().worker().index]
			if f.matches(m) {
				*own = append(*own, describe(m))
			}
			return limit == 0 || len(*own) < limit
		})
		if err != nil {
			return nil, err
		}
		all = slices.Concat(all, slices.Concat(found...))
	}
	slices.SortFunc(all, func(a, b Connection) int { return cmp.Compare(b.ID, a.ID) })
	if limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	return all, nil
}

// CloseConnections resets open connections, and returns how many. If ctx is done first, it returns its error; some are
// closed then. It may be called from any goroutine.
func (p *Proxy) CloseConnections(ctx context.Context, f Filter) (n int, err error) {
	for _, members := range memberLists {
		counts := make([]int, len(p.workers))
		err := p.visit(ctx, members, func(m member) bool {
			if f.matches(m) {
				counts[m.common().worker().index]++
				m.reset(reasonAdmin)
			}
			return true
		})
		if err != nil {
			return 0, err
		}
		for _, k := range counts {
			n += k
		}
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
		if c := connOf(l); c.server == s && (c.phase == phaseFlowing || c.phase == phaseDraining) {
			c.reset(reasonServerDown)
		}
		return true
	}, func() {})
	p.walkAll(sessionsOf, func(l *intrusive.Links) bool {
		if x := sessionOf(l); x.server == s {
			x.reset(reasonServerDown)
		}
		return true
	}, func() {})
}

// matches reports whether the filter means m.
func (f *Filter) matches(m member) bool {
	a := m.common()
	switch {
	case m.over(),
		f.ID != 0 && f.ID != a.id,
		f.Before != 0 && f.Before <= a.id,
		f.Listener != "" && f.Listener != a.listener.name(),
		f.Backend != "" && f.Backend != a.backendName(),
		f.Server != "" && f.Server != a.serverName(),
		f.Address.IsValid() && f.Address != a.serverAddr(),
		f.OlderThan > 0 && a.age() <= f.OlderThan,
		f.IdleFor > 0 && m.idleFor() <= f.IdleFor,
		f.Client.IsValid() && !f.Client.Contains(m.clientAddr().Addr()): // it may be a system call
		return false
	}
	return true
}

func describe(m member) Connection {
	a, bytes := m.common(), m.moved()
	d := Connection{
		ID: a.id, Listener: a.listener.name(), Backend: a.backendName(), Server: a.serverName(), Address: a.serverAddr(),
		Client: m.clientAddr(), ClientName: m.clientName(), Age: a.age(), Idle: m.idleFor(), Phase: m.phaseName(),
		FromClient: bytes[client], FromServer: bytes[server],
	}
	if c, ok := m.(*conn); ok && c.identity != nil {
		d.SNI = c.identity.SNI
		if c.identity.TLS != nil {
			d.TLS = c.identity.TLS.version
		}
	}
	return d
}

func (c *conn) over() bool { return c.phase == phaseClosed }

func (c *conn) reset(why closeReason) { c.close(why, bothSides) }

func (c *conn) moved() [2]uint64 { return [2]uint64{c.pipes[client].bytes, c.pipes[server].bytes} }

// idleFor returns the time since the last byte.
func (c *conn) idleFor() time.Duration {
	if c.phase <= phaseConnecting {
		return c.age()
	}
	return time.Duration(c.time() - c.lastActive)
}

// phaseName returns the phase for people, and for [Connection].
func (c *conn) phaseName() string {
	switch {
	case c.phase == phaseOpening:
		return "opening"
	case c.phase == phaseConnecting && c.dial.queued():
		return "queue"
	case c.phase == phaseConnecting && c.dial.connectedAt != 0:
		return "greeting"
	case c.phase == phaseConnecting:
		return "connect"
	case c.phase == phaseFlowing && !c.halfClosed():
		return "data"
	}
	return "last_data"
}

// memberList is one of the lists of a worker, and what its links belong to.
type memberList struct {
	list func(*worker) *intrusive.List
	of   func(*intrusive.Links) member
}

var (
	connMembers    = &memberList{connsOf, func(l *intrusive.Links) member { return connOf(l) }}
	sessionMembers = &memberList{sessionsOf, func(l *intrusive.Links) member { return sessionOf(l) }}
	memberLists    = []*memberList{connMembers, sessionMembers}
)

func connsOf(w *worker) *intrusive.List    { return &w.conns }
func sessionsOf(w *worker) *intrusive.List { return &w.sessions }

// visit calls f for the members of a list of all workers, on their loops, until f returns false. It returns when that
// is done or, with its error, when ctx is done.
func (p *Proxy) visit(ctx context.Context, of *memberList, f func(member) bool) error {
	return p.visitBy(ctx, walkBatch, of, f)
}

// visitBy is visit with the number of members that are visited in a turn.
func (p *Proxy) visitBy(ctx context.Context, batch int, of *memberList, f func(member) bool) error {
	done := make(chan struct{}, len(p.workers))
	p.walkAllBy(batch, of.list, func(l *intrusive.Links) bool { return ctx.Err() == nil && f(of.of(l)) },
		func() { done <- struct{}{} })
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
	p.walkAllBy(walkBatch, list, visit, done)
}

// walkAllBy is walkAll with the number of connections that are visited in a turn.
func (p *Proxy) walkAllBy(
	batch int, list func(*worker) *intrusive.List, visit func(*intrusive.Links) bool, done func(),
) {
	for _, w := range p.workers {
		w.walk(batch, list, visit, done)
	}
}

// walk visits a list on the loop. done is called when that has ended. From any thread.
func (w *worker) walk(
	batch int, list func(*worker) *intrusive.List, visit func(*intrusive.Links) bool, done func(),
) {
	k := &walk{worker: w, batch: batch, list: list(w), visit: visit, done: done}
	k.Runner = k
	w.loop.Enqueue(&k.Work)
}

// walk visits the connections of a worker, a few in each turn of the loop, so that what is ready does not wait for
// long. It does not visit connections that are accepted meanwhile.
type walk struct {
	sender.Work
	worker  *worker
	batch   int
	list    *intrusive.List             // connections or sessions
	visit   func(*intrusive.Links) bool // false: the walk ends
	done    func()
	next    *intrusive.Links // the one to be visited next
	started bool
}

// walkBatch bounds the connections that a walk visits in a turn of the loop, and tcpBatch those that it asks the kernel
// about: that takes about 6 µs each.
const (
	walkBatch = 256
	tcpBatch  = 32
)

// Run visits some connections.
func (k *walk) Run() {
	w := k.worker
	if !k.started {
		k.started = true
		k.next = k.list.First()
		w.walks = append(w.walks, k)
	}
	for range k.batch {
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
	if !k.started {
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

// forget takes a member out of its list. Walks that would visit it next visit the one behind it.
func (w *worker) forget(l *intrusive.Links, list *intrusive.List) {
	for _, k := range w.walks {
		if k.next == l {
			k.next = l.Next()
		}
	}
	list.Remove(l)
}
