package proxy

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/accesslog"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/pool"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/reactor"
)

// workerState is the state of a worker. It only advances:
//
//	serving                      → stopped   stopAccepting
//	serving, stopped             → draining  drain
//	serving, stopped or draining → closed    close
type workerState uint8

const (
	workerServing  workerState = iota
	workerStopped              // no connections are accepted, because another process does
	workerDraining             // no connections are accepted; the worker ends with its last one
	workerClosed               // connections are reset, and so are those that are still accepted
)

// nextTurn is how long after the loop's time a timer expires in the next turn. At that time it may still expire in this
// turn.
const nextTurn = time.Nanosecond

// worker is the part of the proxy on one loop.
type worker struct {
	proxy     *Proxy
	loop      *reactor.Loop
	index     int
	listeners []*listener // that accept, or are being closed
	conns     intrusive.List
	sessions  intrusive.List // of UDP
	throttled intrusive.List // directions that limits on bytes hold back
	open      atomic.Int64   // connections, for other threads
	accepted  atomic.Uint64  // connections and sessions so far
	local     atomic.Uint64  // accepted connections that the loop's CPU had received
	cpu       int            // that the sockets of listeners prefer, or noCPU
	ids       atomic.Uint64  // that conns were given
	walks     []*walk        // over conns and sessions
	offers    []*offers      // of connections to other processes
	takings   []*taking      // from other processes
	spread    spread         // of a drain
	backends  map[*upstream.Backend]*backend
	random    rand.PCG // of the choice of backends
	state     workerState
	accessLog *accesslog.Writer // in force, if the plan has one
	logLine   accesslog.Record  // that is being filled
	totals    totals
	failures  failureTable

	// Waiting for descriptors; see worker_descriptors.go.
	forFD            waitQueue     // connections without one for the server's side
	retry            reactor.Timer // of forFD
	waitingListeners []*listener   // in order
	descriptors      *limit.Waiter // among those of the budget
	rejected         reactor.Socket

	closedConns pool.Of[conn] // for new connections

	// What a connection needs only at times.
	transfers      pool.Of[transfer]
	relays         pool.Of[relay]
	tlsRecords     recordBuffers
	handshakeSteps handshakeSteps
	handshakeJobs  handshakeJobs
	openings       pool.Of[opening]
	openTasks      pool.Of[openingTask]
	dials          pool.Of[dial]
	dialTasks      pool.Of[dialTask]
	greetings      pool.Of[greeting]
	closings       pool.Of[closeOps]
	watches        pool.Of[watch]
	clientWatches  pool.Of[clientWatch]
	logRecords     pool.Of[logRecord]
	sourceHolds    pool.Of[sourceHolds]
	splices        pool.Of[splice]
	leavings       pool.Of[leaving]
	splicing       int            // splices in use
	maxSplices     int            // at a time
	noSocket       reactor.Socket // what the operation of an unused transfer is connected to
}

func newWorker(p *Proxy, l *reactor.Loop, index int) *worker {
	w := &worker{proxy: p, loop: l, index: index, cpu: noCPU, backends: map[*upstream.Backend]*backend{}}
	w.seed(p.seed)
	w.retry.Init((*retryTimer)(w))
	w.spread.init(w)
	w.handshakeSteps.init(l, w.random.Uint64())
	w.handshakeJobs.waiting.key = w.random.Uint64()
	return w
}

// seed makes the choice of backends reproducible, unless seed is 0.
func (w *worker) seed(seed uint64) {
	if seed != 0 {
		w.random.Seed(seed, uint64(w.index))
		return
	}
	w.random.Seed(rand.Uint64(), rand.Uint64())
}

// start puts the first plan in force. It is the worker's first work on its loop.
func (w *worker) start() { w.follow(w.proxy.firstChange) }

// follow puts a plan in force.
func (w *worker) follow(c *change) {
	p := w.proxy
	if w.index == 0 {
		c.upstream.Commit()
		p.forgetBackends(c.next.backends)
	}
	w.accessLog = c.log
	w.maxSplices = min(maxSplices, c.pipes/len(p.workers))
	for _, s := range c.gone {
		s.loops[w.index].retire(c)
	}
	for _, s := range c.opened {
		l := s.loops[w.index]
		if len(l.fds()) == 0 { // see open
			l.state = listenerClosed
			continue
		}
		w.listeners = append(w.listeners, l)
		if l.start(); w.state != workerServing {
			l.stop(false)
		}
	}
	w.followBackends(c.next.backends)
	w.followBandwidth()
	w.recountSources(&c.sources)
	for _, l := range w.listeners {
		l.follow()
	}
}

// stopAccepting leaves accepting to another process, which has the same sockets.
func (w *worker) stopAccepting() {
	w.advance(workerStopped)
	if w.index == 0 {
		w.proxy.upstreams.Stop() // the other process checks the servers
	}
}

// drain stops accepting. The worker ends with its last connection.
func (w *worker) drain() { w.advance(workerDraining) }

// close stops accepting and resets the connections.
func (w *worker) close() {
	w.advance(workerClosed)
	w.closeHandovers()
	for l := w.conns.First(); l != nil; {
		next := l.Next()
		connOf(l).close(reasonKilled, bothSides)
		l = next
	}
}

// advance enters a state, unless the worker is already in that state or a later one. It stops accepting.
func (w *worker) advance(to workerState) {
	w.state = max(w.state, to)
	for _, l := range w.listeners {
		l.stop(to == workerStopped)
	}
	w.stopIfEmpty()
}

// stopIfEmpty stops the loop if the worker drains and has neither connections nor open listeners.
func (w *worker) stopIfEmpty() {
	if w.state < workerDraining || !w.conns.Empty() {
		return
	}
	if len(w.listeners) == 0 {
		w.spread.end()
		w.endHandovers()
		if w.index == 0 {
			w.proxy.upstreams.Stop()
			w.proxy.upstreams.DetachPauses()
		}
		w.loop.Stop()
	}
}

// listenerClosed forgets a listener whose socket is closed. Its connections live on.
func (w *worker) listenerClosed(l *listener) {
	w.listeners = slices.DeleteFunc(w.listeners, func(other *listener) bool { return other == l })
	w.stopIfEmpty()
}
