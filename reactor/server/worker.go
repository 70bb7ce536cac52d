//go:build linux

package server

import (
	"net"
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// worker is the part of a server on one loop: its listeners, its connections, and what these share.
type worker struct {
	server    *Server
	cfg       *Config
	loop      *reactor.Loop
	handler   Handler
	listeners []*listener
	count     counts
	state     workerState
	conns     int                 // accepted and not closed yet
	open      int                 // listeners that are not closed yet
	cut       int                 // connections that the end of the grace has closed
	left      task.AbandonedError // tasks that did not end even then

	all     queue // of connections that are open, by age: the lifetime
	idle    queue // of connections
	unread  queue // of inputs
	unsent  queue // of outputs
	linger  queue // of endings
	due     deadlineTimer
	tasks   queue          // of taskConns, by age: the lifetime
	overdue queue          // of taskConns that a deadline has ended, and that go on
	shaking queue          // of taskConns, or of handshakes
	ending  intrusive.List // of connections that are no longer open
	grace   grace

	marked  []*Conn // to be served soon, see mark
	serving []*Conn
	service work

	leased   leased // the memory that Data has
	scratch  []byte // the memory that Data appends to
	buffers  bufferPool
	inputs   pool[input]
	outputs  pool[output]
	endings  pool[ending]
	noSocket reactor.Socket // for operations that belong to no connection
	shutdown work
	draining stop.Source // the server shuts down: tasks read no more
}

// workerState is the state of a worker.
//
//	running  → draining   the server shuts down, or the loop stops
//	draining → ended      no listener and no connection is left
type workerState uint8

const (
	workerRunning workerState = iota
	workerDraining
	workerEnded
)

// work is a method of a worker as work for its loop.
type work struct {
	work   sender.Work
	queued bool
	run    func()
}

func (w *work) init(run func()) { w.run, w.work.Runner = run, w }

// Run implements [sender.Runner].
func (w *work) Run() {
	w.queued = false
	w.run()
}

// Abandon does nothing: the loop has ended, and nothing is left.
func (w *work) Abandon(error) {}

func newWorker(s *Server, l *reactor.Loop) *worker {
	w := &worker{server: s, cfg: &s.cfg, loop: l}
	if s.task == nil {
		w.handler = s.newHandler(l)
	}
	w.scratch = w.buffers.get(16 << 10)
	w.noSocket.Init(l, -1)
	w.service.init(w.serve)
	w.shutdown.init(w.drain)
	w.due.loop = l
	w.due.timer.Init(w)
	w.all.init(&w.due, w.cfg.Lifetime)
	w.tasks.init(&w.due, w.cfg.Lifetime)
	w.overdue.init(&w.due, taskEnd)
	w.shaking.init(&w.due, w.cfg.HandshakeTimeout)
	w.idle.init(&w.due, w.cfg.IdleTimeout)
	w.idle.slack = w.idle.after / 64
	w.unread.init(&w.due, w.cfg.ReadTimeout)
	w.unsent.init(&w.due, w.cfg.WriteTimeout)
	w.linger.init(&w.due, lingerFor)
	return w
}

func (w *worker) start() {
	for _, ln := range w.listeners {
		w.open++
		ln.start()
	}
}

// OnTimer ends connections whose deadline has passed.
func (w *worker) OnTimer(int64) {
	for s := w.all.takeDue(); s != nil; s = w.all.takeDue() {
		w.ending.PushBack(&s.links)
		ageOwner(s).expire(LifetimeDeadline, w.cfg.Lifetime)
	}
	for s := w.tasks.takeDue(); s != nil; s = w.tasks.takeDue() {
		taskOf(s).expire(LifetimeDeadline, w.cfg.Lifetime)
	}
	for s := w.shaking.takeDue(); s != nil; s = w.shaking.takeDue() {
		w.handshakeDue(s)
	}
	w.abandonOverdue()
	for s := w.idle.takeDue(); s != nil; s = w.idle.takeDue() {
		idleOwner(s).expire(IdleDeadline, w.cfg.IdleTimeout)
	}
	for s := w.unread.takeDue(); s != nil; s = w.unread.takeDue() {
		inputOwner(s).conn.expire(ReadDeadline, w.cfg.ReadTimeout)
	}
	for s := w.unsent.takeDue(); s != nil; s = w.unsent.takeDue() {
		outputOwner(s).conn.expire(WriteDeadline, w.cfg.WriteTimeout)
	}
	for s := w.linger.takeDue(); s != nil; s = w.linger.takeDue() {
		endingOwner(s).conn.close()
	}
	w.due.armNext()
}

// mark lets a connection be served soon: after what has arrived in this turn, so that all that it has to send by then
// is sent together.
func (w *worker) mark(c *Conn) {
	if c.marked {
		return
	}
	c.marked = true
	w.marked = append(w.marked, c)
	w.serveSoon()
}

func (w *worker) serveSoon() {
	if !w.service.queued {
		w.service.queued = true
		w.loop.Enqueue(&w.service.work)
	}
}

// serve serves the connections that are marked. A handler that ends the goroutine by runtime.Goexit leaves the others
// to the next time.
func (w *worker) serve() {
	if len(w.serving) == 0 {
		w.serving, w.marked = w.marked, w.serving
	}
	if len(w.marked) != 0 {
		w.serveSoon()
	}
	for len(w.serving) != 0 {
		last := len(w.serving) - 1
		c := w.serving[last]
		w.serving[last] = nil
		w.serving = w.serving[:last]
		if len(w.serving) != 0 && c.mayCallHandler() {
			w.serveSoon()
		}
		c.serve()
	}
}

// drain stops accepting, and ends the connections.
func (w *worker) drain() {
	if w.state != workerRunning {
		return
	}
	w.state = workerDraining
	for _, ln := range w.listeners {
		ln.acceptRest()
		ln.close()
	}
	w.grace.begin(w)
	w.draining.RequestStop()
	eachConn(&w.all.list, (*Conn).drain)
	w.endIfDone()
}

// grace is the time that connections have to end when the server shuts down. It is an operation of the loop, and so
// ends when the loop stops meanwhile.
type grace struct {
	sender.EmptyEnv
	w     *worker
	sleep reactor.SleepOp
	over  stop.Source // the worker has ended
}

func (g *grace) begin(w *worker) {
	g.w = w
	w.loop.SleepFor(max(w.cfg.Grace, 0)).Connect(&g.sleep, g)
	g.sleep.Start()
}

// SetValue closes what is left when the time has passed.
func (g *grace) SetValue(struct{}) {
	w := g.w
	cut := func(c *Conn) {
		if c.state < connLingering {
			w.cut++
		}
		c.expire(GraceDeadline, max(w.cfg.Grace, 0))
	}
	eachConn(&w.ending, cut)
	eachConn(&w.all.list, cut)
	w.eachTask(func(c *taskConn) {
		if !c.over.StopRequested() {
			w.cut++
		}
		c.expire(GraceDeadline, max(w.cfg.Grace, 0))
	})
}

// SetStopped closes what is left because the loop stops.
func (g *grace) SetStopped() {
	stopped := func(c *Conn) { c.abort(net.ErrClosed) }
	eachConn(&g.w.ending, stopped)
	eachConn(&g.w.all.list, stopped)
	g.w.eachTask(func(c *taskConn) { c.over.RequestStop() })
}

// SetError never happens.
func (g *grace) SetError(error) { g.SetStopped() }

// Env returns an environment with the stop token.
func (g *grace) Env() sender.Env       { return g }
func (g *grace) StopToken() stop.Token { return g.over.Token() }

// eachConn calls f for the connections of a list, each of which f may remove.
func eachConn(list *intrusive.List, f func(*Conn)) {
	for l := list.First(); l != nil; {
		next := l.Next()
		f(ageOwner(intrusive.Owner[stamp](l, unsafe.Offsetof(stamp{}.links))))
		l = next
	}
}

// endIfDone ends the worker when nothing is left of it.
func (w *worker) endIfDone() {
	if w.state != workerDraining || w.conns != 0 || w.open != 0 {
		return
	}
	w.state = workerEnded
	w.grace.over.RequestStop()
	w.loop.StopTimer(&w.due.timer)
	w.server.workerEnded(w.cut, &w.left)
}

// opened counts an accepted connection.
func (w *worker) opened() {
	w.conns++
	w.count.connections.Add(1)
	w.count.accepted.Add(1)
}

// connClosed counts a connection that has been closed, and ends the worker after the last one.
func (w *worker) connClosed(l *listener) {
	w.conns--
	w.count.connections.Add(-1)
	l.connClosed()
	w.endIfDone()
}

// pool holds free Ts. It keeps as many as a burst needs.
type pool[T any] struct{ free []*T }

const poolKeeps = 1024

func (p *pool[T]) get() *T {
	last := len(p.free) - 1
	if last < 0 {
		return new(T)
	}
	t := p.free[last]
	p.free[last] = nil
	p.free = p.free[:last]
	return t
}

func (p *pool[T]) put(t *T) {
	if len(p.free) < poolKeeps {
		p.free = append(p.free, t)
	}
}
