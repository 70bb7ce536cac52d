//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
	"unsafe"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// taskFunc serves a connection in a task.
type taskFunc func(t *task.T, c net.Conn) error

// ServeTask makes loops and serves with a task for each connection on them, until ctx is done: see [NewTask]. Otherwise
// it works as [Serve].
func ServeTask(ctx context.Context, cfg Config, f func(t *task.T, c net.Conn) error) error {
	s, err := NewTask(cfg, f)
	if err != nil {
		return err
	}
	return s.serve(ctx)
}

// NewTask makes a server that calls f in a task for each connection, on the connection's loop, as [New] does for
// handlers. c is a *[netconn.Conn], or with Config.TLS a *[netconn.TLS] whose handshake has been done. It is closed
// when f returns. f must not block on anything but c and what it awaits: see package task.
//
// Each Read and each Write is bounded by Config.IdleTimeout. f sets other deadlines than that and Lifetime. When the
// server shuts down, Reads end with [sender.ErrStopped], and Writes do not. When Lifetime or the grace has passed, a
// Read or Write that waits ends with an error that matches os.ErrDeadlineExceeded, and so do all Writes from then on;
// and the task is requested to stop, so that all else that it awaits, and later Reads, end with ErrStopped. A task that
// has not ended a second later is abandoned: its next Await ends f as runtime.Goexit does, with its deferred functions.
// That is logged with the line where it waits, and if it was the grace, [Server.Err] reports it too.
//
// The error of f goes to Config.OnTaskError, and so does a deadline that has stopped f, as a [TimeoutError]. A panic is
// logged and counted, as that of a handler.
func NewTask(cfg Config, f func(t *task.T, c net.Conn) error) (*Server, error) {
	if f == nil {
		return nil, errors.New("server: NewTask needs a function")
	}
	s, err := newServer(cfg, nil)
	if err != nil {
		return nil, err
	}
	s.task = f
	return s, nil
}

// taskConn is a connection that a task serves. It is the receiver of the task, and its environment.
type taskConn struct {
	sender.EmptyEnv
	w      *worker
	ln     *listener
	socket reactor.Socket
	conn   netconn.Conn
	op     task.Op
	over   stop.Source
	why    *TimeoutError // the deadline that has ended it, or nil
	age    stamp         // in worker.tasks or, if why is not nil, worker.overdue
	shake  stamp         // in worker.shaking, while the TLS handshake lasts
}

func taskOf(s *stamp) *taskConn {
	return (*taskConn)(unsafe.Add(unsafe.Pointer(s), -int(unsafe.Offsetof(taskConn{}.age))))
}

// handshakeDue ends a connection whose handshake has taken too long.
func (w *worker) handshakeDue(s *stamp) {
	if w.server.task != nil {
		c := (*taskConn)(unsafe.Add(unsafe.Pointer(s), -int(unsafe.Offsetof(taskConn{}.shake))))
		c.expire(HandshakeDeadline, w.cfg.HandshakeTimeout)
		return
	}
	h := (*handshake)(unsafe.Add(unsafe.Pointer(s), -int(unsafe.Offsetof(handshake{}.stamp))))
	h.s.conn.expire(HandshakeDeadline, w.cfg.HandshakeTimeout)
}

// spawn serves an accepted connection in a task.
func (w *worker) spawn(ln *listener, fd int, f taskFunc) {
	c := &taskConn{w: w, ln: ln}
	c.socket.Init(w.loop, fd)
	if ln.inherited {
		_ = c.socket.SetNoDelay(true) // a unix socket has no such option
	}
	w.opened()
	w.tasks.add(&c.age)
	task.New(c.serve(f)).Connect(&c.op, c)
	c.op.Start()
}

// serve returns the function of the task. Its frames are on the stack of each idle connection, so they are few and
// small.
func (c *taskConn) serve(f taskFunc) func(t *task.T) error {
	return func(t *task.T) error {
		c.conn.Init(t, &c.socket)
		defer c.close()
		c.conn.SetDrain(c.w.draining.Token())
		c.conn.SetIdle(c.w.cfg.IdleTimeout)
		if c.w.cfg.TLS != nil {
			return c.serveTLS(t, f)
		}
		return f(t, &c.conn)
	}
}

func (c *taskConn) close() { _ = c.conn.Close() }

// serveTLS serves a connection with TLS in its task.
//
//go:noinline
func (c *taskConn) serveTLS(t *task.T, f taskFunc) error {
	s, err := c.handshake(&c.conn)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return f(t, s)
}

func (c *taskConn) handshake(conn *netconn.Conn) (*netconn.TLS, error) {
	c.w.shaking.begin(&c.shake)
	defer c.w.shaking.end(&c.shake)
	s := netconn.Server(conn, c.w.cfg.TLS)
	if err := s.Handshake(); err != nil {
		if c.why == nil && !errors.Is(err, sender.ErrStopped) {
			c.w.handshakeFailed(err)
		}
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// expire ends the Read and the Write that wait as a deadline of the Conn would, and requests the task to stop. A later
// Read is stopped: a function that ignores timeouts would not end otherwise. A later Write still has the
// deadline, because with TLS it may wait for nothing that could be stopped.
func (c *taskConn) expire(d Deadline, after time.Duration) {
	if c.over.StopRequested() {
		return
	}
	c.w.count.deadlines[d].Add(1)
	c.why = &TimeoutError{d, after}
	c.w.tasks.end(&c.age)
	c.w.overdue.add(&c.age)
	if c.op.Began() {
		_ = c.conn.SetDeadline(longAgo)
		_ = c.conn.SetReadDeadline(time.Time{})
	}
	c.over.RequestStop()
}

var longAgo = time.Unix(1, 0)

// Env returns an environment with the loop, and the connection's stop token.
func (c *taskConn) Env() sender.Env             { return c }
func (c *taskConn) Scheduler() sender.Scheduler { return c.w.loop }
func (c *taskConn) StopToken() stop.Token       { return c.over.Token() }

// SetValue ends the connection, whose function has returned.
func (c *taskConn) SetValue(struct{}) { c.ended() }

// SetStopped ends the connection, whose task was stopped, perhaps before it began.
func (c *taskConn) SetStopped() {
	if c.op.Began() {
		if c.why != nil {
			c.failed(c.why)
		}
		c.ended()
		return
	}
	sender.Submit(c.socket.Close(), (*unbegun)(c))
}

// SetError reports why the task has failed, and ends the connection.
func (c *taskConn) SetError(err error) {
	if !c.op.Began() { // the loop has refused it
		c.SetStopped()
		return
	}
	defer c.ended()
	if p, ok := errors.AsType[*sender.PanicError](err); ok {
		c.w.taskPanicked(p)
		return
	}
	if c.why != nil {
		err = fmt.Errorf("%w: %w", c.why, err)
	}
	c.failed(err)
}

// failed reports why the task has failed.
func (c *taskConn) failed(err error) {
	if cfg := c.w.cfg; cfg.OnTaskError != nil {
		cfg.OnTaskError(err)
	} else {
		cfg.ErrorLog.Debug("the task of a connection has failed", "error", err)
	}
}

// taskPanicked counts and logs the panic of a task.
func (w *worker) taskPanicked(p *sender.PanicError) {
	if w.cfg.NoRecover {
		panic(fmt.Sprintf("server: a task panicked: %v\n\n%s", p.Value, p.Stack))
	}
	w.count.panics.Add(1)
	w.cfg.ErrorLog.Error("a task panicked", "panic", fmt.Sprint(p.Value), "stack", string(p.Stack))
}

func (c *taskConn) ended() {
	if c.why != nil {
		c.w.overdue.end(&c.age)
	} else {
		c.w.tasks.end(&c.age)
	}
	c.w.connClosed(c.ln)
}

// unbegun is a connection whose task was not called, as the receiver of its close.
type unbegun taskConn

func (u *unbegun) SetValue(struct{}) { (*taskConn)(u).ended() }
func (u *unbegun) SetError(error)    { (*taskConn)(u).ended() }
func (u *unbegun) SetStopped()       { (*taskConn)(u).ended() }
func (u *unbegun) Env() sender.Env   { return sender.EmptyEnv{} }

// taskEnd is the time that a task has for its deferred functions when a deadline has ended it.
const taskEnd = time.Second

// abandonOverdue abandons the tasks that ignore that a deadline has ended them, or that await what does not end.
func (w *worker) abandonOverdue() {
	var all task.AbandonedError
	for s := w.overdue.takeDue(); s != nil; s = w.overdue.takeDue() {
		c := taskOf(s)
		at, suspended := c.op.Waiting()
		if !suspended {
			continue
		}
		all.Add(at)
		if c.why.Deadline == GraceDeadline {
			w.left.Add(at)
		}
		c.op.Abandon()
	}
	if all.Tasks != 0 {
		w.cfg.ErrorLog.Error("tasks of connections were abandoned", "error", &all)
	}
}

// eachTask calls f for the tasks that no deadline has ended.
func (w *worker) eachTask(f func(*taskConn)) {
	for l := w.tasks.list.First(); l != nil; {
		next := l.Next()
		f(taskOf(stampOf(l)))
		l = next
	}
}
