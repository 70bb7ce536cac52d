package proxy

import (
	"cmp"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/balance"
	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/limit"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
)

// sharedBackend is what the loops share of a backend: the queue of connections that wait for room, and counters. On
// each loop they get room in order; the loops take turns.
type sharedBackend struct {
	queued       atomic.Int64
	_            [64]byte
	waiters      limit.Waiters   // loops on which connections wait
	loops        []*backend      // by worker; fixed
	queueTime    stats.Durations // time in the queue, whatever came of it
	queueRefused atomic.Uint64   // connections that found it full
	// What is of the backend and not of its queue.
	handshakes  handshakeStats
	noServer    atomic.Uint64 // connections that have got no server, but those that their clients have ended
	noServerLog logEvery      // likewise
}

// backend is what one loop has of a backend.
type backend struct {
	worker       *worker
	upstream     *upstream.Backend
	shared       *sharedBackend
	config       *config.Backend                 // that new connections begin with
	routeConfigs map[routeLimits]*config.Backend // the same with the limits of routes
	tls          *originator                     // nil: there is no TLS with the servers
	picker       balance.Picker
	needSource   bool // the choice of a server depends on the client's address
	localAddrs   [2]localAddrs
	queue        waitQueue     // connections that wait for room
	waiter       *limit.Waiter // among those of the queue
}

// sharedBackends are those of a proxy, made when a connection first needs them.
type sharedBackends struct {
	mu sync.Mutex // of who makes a queue; who reads one takes no lock
	of sync.Map   // *upstream.Backend → *queue
}

// find returns what the loops share of a backend, or nil before its first connection.
func (q *sharedBackends) find(b *upstream.Backend) *sharedBackend {
	found, _ := q.of.Load(b)
	out, _ := found.(*sharedBackend)
	return out
}

// sharedBackend returns what the loops share of a backend, and makes it on first use. Loops keep what it returns, so
// each takes the lock once for a backend.
func (p *Proxy) sharedBackend(b *upstream.Backend) *sharedBackend {
	p.backends.mu.Lock()
	defer p.backends.mu.Unlock()
	if q := p.backends.find(b); q != nil {
		return q
	}
	q := &sharedBackend{}
	for _, w := range p.workers {
		l := &backend{worker: w, upstream: b, shared: q}
		l.waiter = q.waiters.Add(w.loop, l)
		if p.seed != 0 {
			l.picker.Seed(p.seed)
		}
		q.loops = append(q.loops, l)
	}
	p.backends.of.Store(b, q)
	return q
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

// read completes a reading of the backend. It takes no lock.
func (q *sharedBackend) read(out *stats.Backend) {
	out.Queued, out.QueueTime = int(q.queued.Load()), q.queueTime.Read()
	out.NoServer, out.QueueRefused = q.noServer.Load(), q.queueRefused.Load()
	out.Handshakes = q.handshakes.read()
}

// groupChanged resumes connections for which a change of the servers has made room. From any thread.
func (p *Proxy) groupChanged(b *upstream.Backend) {
	p.noteChecked()
	if q := p.backends.find(b); q != nil {
		for range q.loops {
			q.waiters.Wake()
		}
	}
}

// backend returns the worker's part of a backend, with the settings that are in force now.
func (w *worker) backend(b *upstream.Backend) *backend {
	l := w.backends[b]
	if l == nil {
		l = w.proxy.sharedBackend(b).loops[w.index]
		w.backends[b] = l
	}
	if s, keys := b.Settings(), b.Keys(); s != l.config || keys != l.tls.keys() {
		l.configure(s, keys)
	}
	return l
}

func (l *backend) configure(s *config.Backend, keys *certs.Client) {
	l.config, l.tls, l.routeConfigs = s, newOriginator(s, keys), nil
	l.needSource = s.Balance.Policy == "source_hash" || s.Balance.Policy == "maglev"
	l.localAddrs = newLocalAddrs(s.SourceAddresses)
}

// maxRouteConfigs bounds how many settings a backend keeps: each plan may come with other limits.
const maxRouteConfigs = 64

// configFor returns the settings for new connections of a route, or of none.
func (l *backend) configFor(r *route) *config.Backend {
	if r == nil || r.limits == (routeLimits{}) {
		return l.config
	}
	s := l.routeConfigs[r.limits]
	if s == nil {
		own := *l.config
		s = &own
		s.IdleTimeout = cmp.Or(r.limits.idle, s.IdleTimeout)
		s.Lifetime = cmp.Or(r.limits.lifetime, s.Lifetime)
		if l.routeConfigs == nil || len(l.routeConfigs) == maxRouteConfigs {
			l.routeConfigs = map[routeLimits]*config.Backend{}
		}
		l.routeConfigs[r.limits] = s
	}
	return s
}

// followBackends drops the backends that are no longer in the table, and resumes connections for which a plan has made
// room.
func (w *worker) followBackends(backends map[string]*upstream.Backend) {
	for b, l := range w.backends {
		switch {
		case l.queue.length != 0:
			l.resume()
		case backends[b.Name] != b:
			delete(w.backends, b)
		}
	}
}

// enterQueue takes one of the places of a queue of a size, if one is free.
func (q *sharedBackend) enterQueue(size int) bool {
	for {
		n := q.queued.Load()
		if n >= int64(size) {
			return false
		}
		if q.queued.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leaveQueue gives the place back, and counts how long it was taken.
func (q *sharedBackend) leaveQueue(ns int64) {
	q.queued.Add(-1)
	q.queueTime.Observe(ns)
}

// Resume implements [limit.Resumer].
func (l *backend) Resume() bool {
	if l.worker.state > workerDraining || l.queue.length == 0 {
		return false
	}
	l.resume()
	return true
}

// resume takes room for the connections at the head of the queue, as long as there is some. It joins the waiters before
// it asks for the last time, so that it cannot miss room that is given back meanwhile.
func (l *backend) resume() {
	for joined := false; l.queue.length != 0; {
		p := l.queue.first()
		c := p.conn
		err := c.take(&c.dial.request)
		if !errors.Is(err, balance.ErrFull) {
			p.leave(err)
			continue
		}
		c.drop()
		if joined {
			return
		}
		l.waiter.Join()
		joined = true
	}
}
