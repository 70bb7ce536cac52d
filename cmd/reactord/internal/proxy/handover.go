package proxy

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/handover"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// A process that another one replaces gives it its connections. They talk over unix sockets, each between a loop of the
// one and a loop of the other process: see package handover. A loop brings to rest what it offers. A batch belongs to
// the process that offers it until the other one has answered, and to the other one from then on. Until it has
// answered, neither touches the sockets:
//
//   - If the other process ends before it has answered, the connections are carried on here.
//   - If this process ends after it has offered them, the other one cannot answer, and continues them.
//   - An answer is sent before the sockets are touched, and is received even if the process that sent it ends.

// HandOver offers the connections to the process at the other end of a unix socket, which calls [Proxy.TakeOver] with
// that end. It takes the descriptor over. Several sockets share the connections, see [Proxy.Channels]: the one with an
// index joins the loops of both processes that have this index, modulo the number of loops. loops is that of the other
// process. It is called after [Proxy.StopAccepting], from any goroutine.
func (p *Proxy) HandOver(fd, index, loops int) {
	p.openChannel(fd, index, func(w *worker) { w.beginOffers(fd, index%loops, loops) })
}

// TakeOver takes the connections that the process at the other end of a unix socket offers: see [Proxy.HandOver]. It
// takes the descriptor over. It may be called from any goroutine.
func (p *Proxy) TakeOver(fd, index int) {
	p.handovers.awaitSessions()
	p.openChannel(fd, index, func(w *worker) { w.beginTaking(fd) })
}

// Channels returns how many sockets connect this process with one that has so many loops and hands its connections
// over: each loop has one, and so has each socket of UDP, because sessions stay with that. It may be called from any
// goroutine.
func (p *Proxy) Channels(loops int) int {
	n := max(len(p.workers), loops)
	for _, s := range p.table.Load().listeners {
		if s.isUDP() {
			n = max(n, s.given)
		}
	}
	return n
}

// openChannel runs the beginning of a side of a handover on its loop.
func (p *Proxy) openChannel(fd, index int, begin func(*worker)) {
	w := p.workers[index%len(p.workers)]
	c := &channelCall{worker: w, fd: fd, begin: begin}
	c.Runner = c
	w.loop.Enqueue(&c.Work)
}

// TakesAll says that TakeOver was called for all processes that the configuration announces by AwaitSessions; if it
// announces none, it does nothing. It may be called from any goroutine.
func (p *Proxy) TakesAll() {
	if p.handovers.announced.CompareAndSwap(true, false) {
		p.sessionsCame()
	}
}

// idStep divides the ids of processes that replace each other. It is more than the connections that this one may accept
// between NextID and the end of its accepting.
const idStep = 1 << 24

// NextID returns the FirstID of a process that replaces this one. It may be called from any goroutine.
func (p *Proxy) NextID() uint64 {
	most := uint64(0)
	for _, w := range p.workers {
		most = max(most, w.ids.Load())
	}
	return (p.firstID+(most+1)*uint64(len(p.workers)))/idStep*idStep + 2*idStep
}

// Handovers returns how many connections have moved, and why those that are left stay. It may be called from any
// goroutine.
func (p *Proxy) Handovers() stats.Handovers {
	h := &p.handovers
	out := stats.Handovers{Taking: h.takes(), Moved: h.moved.Load(), Taken: h.taken.Load()} // Taken grows while Taking
	for why, name := range stayReasons {
		if n := h.staying[why].Load(); n > 0 {
			out.Staying = append(out.Staying, stats.Count{Reason: name, Count: uint64(n)})
		}
	}
	return out
}

// Taken returns how many connections of other processes were taken, and for how long each stood still. It may be called
// from any goroutine.
func (p *Proxy) Taken() (n uint64, pause stats.Histogram) {
	return p.handovers.taken.Load(), p.handovers.pause.Read()
}

// StayReasons returns the reasons of [Proxy.Handovers], with counts of 0.
func StayReasons() []stats.Count {
	all := make([]stats.Count, len(stayReasons))
	for why, name := range stayReasons {
		all[why].Reason = name
	}
	return all
}

// stayReason says why a connection is not offered.
type stayReason uint8

const (
	staysSetup   stayReason = iota // it has no server yet: it is offered when it has
	staysTLS                       // TLS ends in this process
	staysBusy                      // it is on its way, or did not come to rest in time
	staysRefused                   // the other process does not take it
	stayReasonCount
)

var stayReasons = [stayReasonCount]string{
	staysSetup: "setup", staysTLS: "tls", staysBusy: "busy", staysRefused: "refused",
}

// handovers counts what a proxy gives to other processes, and takes from them.
type handovers struct {
	moved    atomic.Uint64 // connections that other processes have taken
	taken    atomic.Uint64 // connections of other processes
	sessions atomic.Int64  // from where sessions of UDP may come that are awaited

	announced atomic.Bool // by the configuration: one of sessions
	staying   [stayReasonCount]atomic.Int64
	pause     stats.Durations // in which a taken connection rested

	// What connections of other processes had and the plan does not have, while they come.
	mu        sync.Mutex
	open      int // sockets by which they come
	listeners map[plan.ListenerKey]*sharedListener
	backends  map[string]*upstream.Backend
	servers   map[retiredServer]*upstream.Server
}

type retiredServer struct {
	backend *upstream.Backend
	address serveraddr.Addr
}

// opened counts a socket by which connections come. When the last one is closed, what the plan does not have lives as
// long as its connections.
func (h *handovers) opened(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open += n; h.open == 0 {
		h.listeners, h.backends, h.servers = nil, nil, nil
	}
}

// takes reports whether other processes may still hand over connections.
func (h *handovers) takes() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open > 0
}

// listenerFor returns the listener of a connection of another process: of the plan, or one that is retired.
func (p *Proxy) listenerFor(r *handover.Record) *sharedListener {
	if s := p.table.Load().byKey[r.Listener]; s != nil {
		return s
	}
	h := &p.handovers
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.listeners[r.Listener]
	if s == nil {
		s = p.newSharedListener(r.Listener, r.Listener.Bind, r.Listener.Path)
		retired := &plan.Listener{}
		retired.Name = r.ListenerName
		s.settings.Store(&settings{Listener: retired})
		for _, w := range p.workers {
			l := newListener(w, s)
			l.state, l.tcp = listenerClosed, r.Sides[client].TCP
			s.loops = append(s.loops, l)
		}
		if h.listeners == nil {
			h.listeners = map[plan.ListenerKey]*sharedListener{}
		}
		h.listeners[r.Listener] = s
	}
	return s
}

// serverFor returns the server of a connection of another process, with its backend: of the plan, or retired ones.
func (p *Proxy) serverFor(r *handover.Record) *upstream.Server {
	h := &p.handovers
	h.mu.Lock()
	defer h.mu.Unlock()
	b := p.table.Load().backends[r.Backend]
	if b != nil {
		if s := p.upstreams.Server(b, r.Server); s != nil {
			return s
		}
	} else if b = h.backends[r.Backend]; b == nil {
		b = p.upstreams.Retired(r.Settings.Apply(config.Backend{Name: r.Backend}))
		if h.backends == nil {
			h.backends = map[string]*upstream.Backend{}
		}
		h.backends[r.Backend] = b
	}
	key := retiredServer{b, r.Server}
	s := h.servers[key]
	if s == nil {
		s = b.Retired(r.ServerName, r.Server)
		if h.servers == nil {
			h.servers = map[retiredServer]*upstream.Server{}
		}
		h.servers[key] = s
	}
	return s
}

// channelCall begins a side of a handover on a loop.
type channelCall struct {
	sender.Work
	worker *worker
	fd     int
	begin  func(*worker)
}

// Run begins.
func (c *channelCall) Run() { c.begin(c.worker) }

// Abandon closes the socket: the loop has ended.
func (c *channelCall) Abandon(error) { discard(c.worker, c.fd) }

// discard closes descriptors that nothing has used.
func discard(w *worker, fds ...int) {
	for _, fd := range fds {
		var s reactor.Socket
		s.Init(w.loop, fd)
		s.Discard()
	}
}

// closeHandovers ends the handovers of a worker that resets its connections, as soon as it is known whose they are.
func (w *worker) closeHandovers() {
	for _, o := range slices.Clone(w.offers) {
		o.close()
	}
	for _, t := range slices.Clone(w.takings) {
		t.close()
	}
}

// endHandovers ends the handovers of a worker: the process ends.
func (w *worker) endHandovers() {
	for len(w.offers) != 0 {
		w.offers[0].end(errEnds)
	}
	for len(w.takings) != 0 {
		w.takings[0].end(errEnds)
	}
}

var errEnds = errors.New("the process ends")
