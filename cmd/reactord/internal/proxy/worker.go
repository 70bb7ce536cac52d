package proxy

import (
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/reactor"
)

// worker is what the proxy has on one loop.
type worker struct {
	proxy     *Proxy
	loop      *reactor.Loop
	index     int
	listeners []*listener
	conns     conns
	starved   []*conn       // accepted, but without a descriptor for the server's side
	retry     reactor.Timer // for starved
	draining  bool
	closed    bool // connections are reset, also those that are accepted late

	// What a connection needs only for a while is lent to it.
	transfers pool[transfer]
	dials     pool[dial]
	closings  pool[closing]
	watches   pool[watch]
	splices   pool[splice]
	spliced   int // splices lent
}

func newWorker(p *Proxy, l *reactor.Loop, index int) *worker {
	w := &worker{proxy: p, loop: l, index: index}
	w.retry.Init((*retryStarved)(w))
	return w
}

// start is the worker's first work on its loop.
func (w *worker) start() {
	for _, l := range w.listeners {
		l.start()
	}
}

// drain stops accepting; the worker ends with its last connection.
func (w *worker) drain() {
	if w.draining {
		return
	}
	w.draining = true
	for _, l := range w.listeners {
		l.stop()
	}
	w.endIfEmpty()
}

// close stops accepting and resets the connections.
func (w *worker) close() {
	w.closed = true
	w.drain()
	for c := w.conns.first; c != nil; c = c.next {
		c.close(endKilled, abortBoth)
	}
}

// endIfEmpty stops the loop of a draining worker that has nothing left.
func (w *worker) endIfEmpty() {
	if !w.draining || w.conns.first != nil {
		return
	}
	for _, l := range w.listeners {
		if !l.closed {
			return
		}
	}
	w.loop.Stop()
}

// starve lets a connection wait for a descriptor.
func (w *worker) starve(c *conn) {
	w.starved = append(w.starved, c)
	w.proxy.starving.Add(1)
	if d := c.dial; !d.starved {
		d.starved = true
		w.loop.SetTimer(&c.timer, w.loop.Now()+int64(c.listener.backend.IdleTimeout))
	}
	if !w.retry.Pending() {
		w.loop.SetTimer(&w.retry, w.loop.Now()+int64(reactor.AcceptRest))
	}
}

// retryStarved is a worker as the handler of its retry timer.
type retryStarved worker

func (r *retryStarved) OnTimer(int64) { (*worker)(r).feed() }

// feed tries again to connect those that had no descriptor, in order, until there is none.
func (w *worker) feed() {
	starved := w.starved
	w.starved = nil
	for i, c := range starved {
		w.proxy.starving.Add(-1)
		if c.phase == phaseConnecting {
			c.dialNext()
		}
		if len(w.starved) != 0 { // it waits again, and so do those behind it
			w.starved = starved[i:]
			return
		}
	}
}

// pool lends out zeroed or used Ts, whoever gives one back last being served first.
type pool[T any] struct{ free []*T }

func (p *pool[T]) get() *T {
	if n := len(p.free); n != 0 {
		t := p.free[n-1]
		p.free = p.free[:n-1]
		return t
	}
	return new(T)
}

// put takes back what is idle. Of a great many it keeps some.
func (p *pool[T]) put(t *T) {
	if len(p.free) < 256 {
		p.free = append(p.free, t)
	}
}

// conns is an intrusive list of connections.
type conns struct{ first *conn }

func (l *conns) add(c *conn) {
	c.next = l.first
	if c.next != nil {
		c.next.prev = c
	}
	l.first = c
}

func (l *conns) remove(c *conn) {
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		l.first = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
}

// logEvery lets one of many messages pass a second. It is shared by the loops.
type logEvery struct{ last atomic.Int64 }

func (e *logEvery) due(now int64) bool {
	last := e.last.Load()
	return (last == 0 || now-last >= int64(time.Second)) && e.last.CompareAndSwap(last, now)
}
