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

// sharedBackend is the connections that wait for room in a backend, on all loops. On each loop they get it in order;
// the loops take turns.
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

// backend is what a worker has for a backend.
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

// sharedBackends are the queues of a proxy.
type sharedBackends struct {
	mu sync.Mutex // of who makes a queue; who reads one takes no lock
	of sync.Map   // *upstream.Backend → *queue
}

// find is the queue of a backend; nil: there is none yet.
func (q *sharedBackends) find(b *upstream.Backend) *sharedBackend {
	found, _ := q.of.Load(b)
	out, _ := found.(*sharedBackend)
	return out
}

// sharedBackend is the queue of a backend. The caller keeps its lane, so that the lock is taken once a loop and
// backend.
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

// forgetBackends drops the queues of backends that are not in the table any more. Their connections still refer to
// them.
func (p *Proxy) forgetBackends(backends map[string]*upstream.Backend) {
	p.backends.of.Range(func(key, _ any) bool {
		if b := key.(*upstream.Backend); backends[b.Name] != b {
			p.backends.of.Delete(b)
		}
		return true
	})
}

// noBackend is what is read of a backend that has had no connection.
var noBackend sharedBackend

// read reads the queue into a reading of its backend. It takes no lock.
func (q *sharedBackend) read(out *stats.Backend) {
	out.Queued, out.QueueTime = int(q.queued.Load()), q.queueTime.Read()
	out.NoServer, out.QueueRefused = q.noServer.Load(), q.queueRefused.Load()
	out.Handshakes = q.handshakes.read()
}

// groupChanged lets connections go on for which a change of the servers has made room. From any thread.
func (p *Proxy) groupChanged(b *upstream.Backend) {
	p.noteChecked()
	if q := p.backends.find(b); q != nil {
		for range q.loops {
			q.waiters.Wake()
		}
	}
}

// backend is the worker's lane of a backend, with the settings that are in force now.
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

// maxRouteConfigs bounds how many settings a lane keeps: plans may come with ever other limits.
const maxRouteConfigs = 64

// configFor are the settings of new connections of a route; nil: they have none.
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

// followBackends drops the lanes that are not in the table any more, and lets connections go on for which a plan has
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

// enterQueue takes one of so many places of the queue, if one is free.
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

// leaveQueue gives the place back, after so much time.
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

// resume lets the connections at the head of the line go on, while there is room. It joins the waiters before it asks
// for the last time, so that it cannot miss room that is given back meanwhile.
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
