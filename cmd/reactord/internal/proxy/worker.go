package proxy

import (
	"slices"
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
	short     []*listener   // wait for descriptors, in order
	draining  bool
	closed    bool // connections are reset, also those that are accepted late

	// What a connection needs only for a while is lent to it.
	transfers pool[transfer]
	dials     pool[dial]
	closings  pool[closing]
	watches   pool[watch]
	splices   pool[splice]
	spliced   int            // splices lent
	nowhere   reactor.Socket // what the operation of a transfer that is not lent is connected to

	maxSplices  int     // at a time
	descriptors *waiter // of the budget's
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
	for c := w.conns.first; c != nil; {
		next := c.next
		c.close(endKilled, abortBoth)
		c = next
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

// wantDescriptors lets a listener wait for descriptors. There may be some by now.
func (w *worker) wantDescriptors(l *listener) {
	if !l.short {
		l.short = true
		w.short = append(w.short, l)
	}
	w.descriptors.join()
}

// resume lets those that wait for descriptors go on, in order, until there are none.
func (w *worker) resume() {
	for len(w.short) != 0 {
		l := w.short[0]
		w.short = slices.Delete(w.short, 0, 1)
		l.short = false
		if l.resume(); l.short { // it waits again, and so do those behind it
			return
		}
	}
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
		w.loop.SetTimer(&w.retry, w.loop.Now()+int64(reactor.AcceptBackoff))
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
		starved[i] = nil // those behind it may wait for long
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

// put takes back what is idle, and clears it: it is not to keep its borrower alive.
func (p *pool[T]) put(t *T) {
	*t = *new(T)
	p.keep(t)
}

// keep takes back what has forgotten its borrower by itself. Of a great many it keeps some.
func (p *pool[T]) keep(t *T) {
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
	c.next, c.prev = nil, nil // or a reference to one that is gone would hold all that ever were neighbours
}

// logEvery lets one of many messages pass a second. It is shared by the loops.
type logEvery struct{ last atomic.Int64 }

func (e *logEvery) due(now int64) bool {
	last := e.last.Load()
	return (last == 0 || now-last >= int64(time.Second)) && e.last.CompareAndSwap(last, now)
}
