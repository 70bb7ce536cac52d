package proxy

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/handover"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
	"github.com/reactord/reactord/reactor"
)

// sharedBackend is the part of a backend that the loops share: the queue of connections that wait for room, and
// counters. On each loop they get room in order; the loops take turns.
type sharedBackend struct {
	queued       atomic.Int64
	_            [64]byte
	waiters      limit.Waiters   // loops on which connections wait
	loops        []*backend      // by worker; fixed
	queueTime    stats.Durations // time in the queue, whatever came of it
	queueRefused atomic.Uint64   // connections that found it full
	handshakes   handshakeStats  // with the servers
	noServer     atomic.Uint64   // connections without a server, but those that their clients have ended
	noServerLog  logEvery        // warnings about these
	hold         hold
	sticky       atomic.Pointer[stickyTable] // nil: clients stay at no server
}

// backend is the part of a backend on one loop.
type backend struct {
	worker       *worker
	upstream     *upstream.Backend
	shared       *sharedBackend
	config       *config.Backend                       // that new connections begin with
	routeConfigs map[routeLimits]*config.Backend       // the same with the limits of routes
	takenConfigs map[handover.Settings]*config.Backend // the same with what connections of another process had
	tls          *originator                           // if the backend speaks TLS with its servers
	picker       balance.Picker
	hashesClient bool // the choice of a server depends on the client's address
	localAddrs   [2]localAddrs
	queue        waitQueue     // connections that wait for room
	waiter       *limit.Waiter // among those of the sharedBackend
	retry        reactor.Timer // of held connections after one has failed
}

// sharedBackends has those of a proxy, made when a connection first needs them.
type sharedBackends struct {
	mu sync.Mutex // held to add one, not to read one
	of sync.Map   // *upstream.Backend → *sharedBackend
}

// find returns what the loops share of a backend, or nil before its first connection.
func (s *sharedBackends) find(b *upstream.Backend) *sharedBackend {
	found, _ := s.of.Load(b)
	out, _ := found.(*sharedBackend)
	return out
}

// sharedBackend returns what the loops share of a backend, and makes it on first use. Loops keep what it returns, so
// each takes the lock once for a backend.
func (p *Proxy) sharedBackend(of *upstream.Backend) *sharedBackend {
	p.backends.mu.Lock()
	defer p.backends.mu.Unlock()
	if s := p.backends.find(of); s != nil {
		return s
	}
	s := &sharedBackend{}
	for _, w := range p.workers {
		b := &backend{worker: w, upstream: of, shared: s}
		b.waiter = s.waiters.Add(w.loop, b)
		b.retry.Init((*holdTimer)(b))
		if p.seed != 0 {
			b.picker.Seed(p.seed)
		}
		s.loops = append(s.loops, b)
	}
	p.backends.of.Store(of, s)
	return s
}

// forgetBackends drops those that are no longer in the table. Their connections still refer to them.
func (p *Proxy) forgetBackends(backends map[string]*upstream.Backend) {
	p.backends.of.Range(func(key, _ any) bool {
		if b := key.(*upstream.Backend); backends[b.Name] != b {
			p.backends.of.Delete(b)
		}
		return true
	})
}

// noBackend is read for a backend that has had no connection.
var noBackend sharedBackend

// read completes a reading of the backend, except its handshakes. It takes no lock.
func (s *sharedBackend) read(out *stats.Backend, full bool, now int64) {
	if full {
		out.QueueTime = s.queueTime.Read()
	}
	out.Queued = int(s.queued.Load())
	out.NoServer, out.QueueRefused = s.noServer.Load(), s.queueRefused.Load()
	if t := s.sticky.Load(); t != nil {
		out.Sticky = t.servers.Len(now, t.time)
	}
	s.hold.read(out, full)
}

// groupChanged resumes connections for which a change of the servers has made room. From any thread.
func (p *Proxy) groupChanged(b *upstream.Backend) {
	p.noteChecked()
	if s := p.backends.find(b); s != nil {
		s.hold.retryAt.Store(0) // the next attempt may succeed
		for range s.loops {
			s.waiters.Wake()
		}
	}
}

// backend returns the worker's part of a backend, with the settings that are in force now.
func (w *worker) backend(of *upstream.Backend) *backend {
	b := w.backends[of]
	if b == nil {
		b = w.proxy.sharedBackend(of).loops[w.index]
		w.backends[of] = b
	}
	if s, keys := of.Settings(), of.Keys(); s != b.config || keys != b.tls.keys() {
		b.configure(s, keys)
	}
	return b
}

func (b *backend) configure(s *config.Backend, keys *certs.Client) {
	b.config, b.tls, b.routeConfigs, b.takenConfigs = s, newOriginator(s, keys), nil, nil
	b.hashesClient = choosesByClient(&s.Balance)
	b.worker.proxy.followSticky(b.shared, b.upstream, b.worker.loop.Now())
	b.localAddrs = newLocalAddrs(s.SourceAddresses)
}

// maxRouteConfigs bounds how many settings a backend keeps: each plan may come with other limits.
const maxRouteConfigs = 64

// configFor returns the settings for new connections of a route, or of none.
func (b *backend) configFor(r *route) *config.Backend {
	if r == nil || r.limits == (routeLimits{}) {
		return b.config
	}
	s := b.routeConfigs[r.limits]
	if s == nil {
		own := *b.config
		s = &own
		s.IdleTimeout = cmp.Or(r.limits.idle, s.IdleTimeout)
		s.Lifetime = cmp.Or(r.limits.lifetime, s.Lifetime)
		if b.routeConfigs == nil || len(b.routeConfigs) == maxRouteConfigs {
			b.routeConfigs = map[routeLimits]*config.Backend{}
		}
		b.routeConfigs[r.limits] = s
	}
	return s
}

// followBackends drops the backends that are no longer in the table, and resumes connections for which a plan has made
// room.
func (w *worker) followBackends(backends map[string]*upstream.Backend) {
	byName := func(x, y *upstream.Backend) int { return cmp.Compare(x.Name, y.Name) } // a seed plays the same again
	for _, of := range slices.SortedFunc(maps.Keys(w.backends), byName) {
		b := w.backends[of]
		switch {
		case b.queue.length != 0:
			b.resume()
		case backends[of.Name] != of:
			delete(w.backends, of)
		}
	}
}

// enterQueue takes one of the places of a queue of a size, if one is free.
func (s *sharedBackend) enterQueue(size int) bool {
	for {
		n := s.queued.Load()
		if n >= int64(size) {
			return false
		}
		if s.queued.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leaveQueue gives the place of a connection of w back, and counts how long it was taken.
func (s *sharedBackend) leaveQueue(w *worker, ns int64) {
	s.queued.Add(-1)
	s.queueTime.Observe(ns)
	w.totals.queueTime.Observe(ns)
}

// Resume implements [limit.Resumer].
func (b *backend) Resume() bool {
	if b.worker.state > workerDraining || b.queue.length == 0 {
		return false
	}
	b.resume()
	return true
}

// resume takes room for the connections at the head of the queue, as long as there is some. It joins the waiters before
// it asks for the last time, so that it cannot miss room that is given back meanwhile.
func (b *backend) resume() {
	for joined := false; b.queue.length != 0; {
		if b.serveFirst() {
			continue
		}
		if joined {
			return
		}
		b.waiter.Join()
		joined = true
	}
}

// serveFirst takes room for the connection at the head of the queue, and reports whether that has left it.
func (b *backend) serveFirst() bool {
	p := b.queue.first()
	c := p.conn
	d := c.dial
	if d.held && !d.beginRelease() {
		return false
	}
	err := c.take(&d.request)
	if errors.Is(err, balance.ErrNoServer) && d.held {
		d.forgetFailures() // those that have failed may be back, and no other is left
		err = c.take(&d.request)
	}
	if d.waits(err) {
		c.drop()
		d.cancelRelease()
		return false
	}
	p.leave(err)
	return true
}
