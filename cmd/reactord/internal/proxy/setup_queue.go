package proxy

import (
	"cmp"
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/reactord/reactord/cmd/reactord/internal/balance"
	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/limit"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// queue is the connections that wait for room in a backend, on all loops. On each loop they get it in order; the loops
// take turns.
type queue struct {
	length  atomic.Int64
	_       [64]byte
	rooms   limit.Waiters   // loops on which connections wait
	lanes   []*lane         // by worker; fixed
	waited  stats.Durations // time in the queue, whatever came of it
	refused atomic.Uint64   // connections that found it full
	// What is of the backend and not of its queue.
	handshakes handshakeStats
	noServer   atomic.Uint64 // connections that have got no server, but those that their clients have ended
	logged     logEvery      // likewise
}

// lane is what a worker has for a backend.
type lane struct {
	worker     *worker
	backend    *upstream.Backend
	queue      *queue
	settings   *config.Backend                 // that new connections begin with
	limited    map[routeLimits]*config.Backend // the same with the limits of routes
	tls        *originator                     // nil: there is no TLS with the servers
	picker     balance.Picker
	needSource bool // the choice of a server depends on the client's address
	sources    [2]sources
	line       line          // connections that wait for room
	room       *limit.Waiter // among those of the queue
}

// queues are the queues of a proxy.
type queues struct {
	mu sync.Mutex // of who makes a queue; who reads one takes no lock
	of sync.Map   // *upstream.Backend → *queue
}

// find is the queue of a backend; nil: there is none yet.
func (q *queues) find(b *upstream.Backend) *queue {
	found, _ := q.of.Load(b)
	out, _ := found.(*queue)
	return out
}

// queueOf is the queue of a backend. The caller keeps its lane, so that the lock is taken once a loop and backend.
func (p *Proxy) queueOf(b *upstream.Backend) *queue {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	if q := p.queues.find(b); q != nil {
		return q
	}
	q := &queue{}
	for _, w := range p.workers {
		l := &lane{worker: w, backend: b, queue: q}
		l.room = q.rooms.Add(w.loop, l)
		if p.seed != 0 {
			l.picker.Seed(p.seed)
		}
		q.lanes = append(q.lanes, l)
	}
	p.queues.of.Store(b, q)
	return q
}

// forgetQueues drops the queues of backends that are not in the table any more. Their connections still refer to them.
func (p *Proxy) forgetQueues(backends map[string]*upstream.Backend) {
	p.queues.of.Range(func(key, _ any) bool {
		if b := key.(*upstream.Backend); backends[b.Name] != b {
			p.queues.of.Delete(b)
		}
		return true
	})
}

// noQueue is what is read of a backend that has had no connection.
var noQueue queue

// read reads the queue into a reading of its backend. It takes no lock.
func (q *queue) read(out *stats.Backend) {
	out.Queued, out.QueueTime = int(q.length.Load()), q.waited.Read()
	out.NoServer, out.QueueRefused = q.noServer.Load(), q.refused.Load()
	out.Handshakes = q.handshakes.read()
}

// groupChanged lets connections go on for which a change of the servers has made room. From any thread.
func (p *Proxy) groupChanged(b *upstream.Backend) {
	p.noteChecked()
	if q := p.queues.find(b); q != nil {
		for range q.lanes {
			q.rooms.Wake()
		}
	}
}

// lane is the worker's lane of a backend, with the settings that are in force now.
func (w *worker) lane(b *upstream.Backend) *lane {
	l := w.lanes[b]
	if l == nil {
		l = w.proxy.queueOf(b).lanes[w.index]
		w.lanes[b] = l
	}
	if s, keys := b.Settings(), b.Keys(); s != l.settings || keys != l.tls.keys() {
		l.configure(s, keys)
	}
	return l
}

func (l *lane) configure(s *config.Backend, keys *certs.Client) {
	l.settings, l.tls, l.limited = s, newOriginator(s, keys), nil
	l.needSource = s.Balance.Policy == "source_hash" || s.Balance.Policy == "maglev"
	l.sources = newSources(s.SourceAddresses)
}

// maxLimited bounds how many settings a lane keeps: plans may come with ever other limits.
const maxLimited = 64

// settingsFor are the settings of new connections of a route; nil: they have none.
func (l *lane) settingsFor(r *route) *config.Backend {
	if r == nil || r.limits == (routeLimits{}) {
		return l.settings
	}
	s := l.limited[r.limits]
	if s == nil {
		own := *l.settings
		s = &own
		s.IdleTimeout = cmp.Or(r.limits.idle, s.IdleTimeout)
		s.Lifetime = cmp.Or(r.limits.lifetime, s.Lifetime)
		if l.limited == nil || len(l.limited) == maxLimited {
			l.limited = map[routeLimits]*config.Backend{}
		}
		l.limited[r.limits] = s
	}
	return s
}

// followLanes drops the lanes that are not in the table any more, and lets connections go on for which a plan has room.
func (w *worker) followLanes(backends map[string]*upstream.Backend) {
	for b, l := range w.lanes {
		switch {
		case l.line.length != 0:
			l.resume()
		case backends[b.Name] != b:
			delete(w.lanes, b)
		}
	}
}

// enter takes one of so many places of the queue, if one is free.
func (q *queue) enter(size int) bool {
	for {
		n := q.length.Load()
		if n >= int64(size) {
			return false
		}
		if q.length.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave gives the place back, after so much time.
func (q *queue) leave(ns int64) {
	q.length.Add(-1)
	q.waited.Observe(ns)
}

// Resume implements [limit.Resumer].
func (l *lane) Resume() bool {
	if l.worker.state > workerDraining || l.line.length == 0 {
		return false
	}
	l.resume()
	return true
}

// resume lets the connections at the head of the line go on, while there is room. It joins the waiters before it asks
// for the last time, so that it cannot miss room that is given back meanwhile.
func (l *lane) resume() {
	for joined := false; l.line.length != 0; {
		p := l.line.first()
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
		l.room.Join()
		joined = true
	}
}

// line is where the tasks of a loop wait for something in order. What they wait for is taken for the first of them
// while it is still in the line: so no other task gets ahead of it.
type line struct {
	places intrusive.List
	length int
}

// first is the place of the task that has waited longest; nil: no task waits.
func (l *line) first() *place {
	return intrusive.Owner[place](l.places.First(), unsafe.Offsetof(place{}.links))
}

// place is a place in a line: the operation state of a task that waits.
type place struct {
	links  intrusive.Links
	line   *line
	conn   *conn
	onStop stop.Callback
	r      sender.Receiver[struct{}]
}

// placeSender waits in a line. See [line.wait].
type placeSender struct {
	line *line
	at   *place
	conn *conn
}

// placeOp is the operation state of placeSender. All of it is in the place.
type placeOp struct{}

// wait is a sender that completes when its turn has come, as leave says. A stop request ends the wait.
func (l *line) wait(at *place, c *conn) placeSender { return placeSender{l, at, c} }

// Connect implements [sender.Sender].
func (s placeSender) Connect(_ *placeOp, r sender.Receiver[struct{}]) sender.Operation {
	p := s.at
	p.line, p.conn, p.r = s.line, s.conn, r
	return p
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (placeSender) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }

// Start joins the line.
func (p *place) Start() {
	p.line.places.PushBack(&p.links)
	p.line.length++
	p.onStop.Register(p.r.Env().StopToken(), p)
}

// OnStop implements [stop.Handler].
func (p *place) OnStop() {
	p.remove()
	p.r.SetStopped()
}

// leave ends the wait, with what came of it.
func (p *place) leave(err error) {
	p.remove()
	if err != nil {
		p.r.SetError(err)
		return
	}
	p.r.SetValue(struct{}{})
}

func (p *place) remove() {
	p.onStop.Deregister()
	p.line.places.Remove(&p.links)
	p.line.length--
	p.line = nil
}
