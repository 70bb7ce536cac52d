//go:build linux

package netconn

import (
	"net"
	"os"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// FlushTimeout bounds the time that Close waits for the queue of a Conn under TLS to be sent. It is as long as
// crypto/tls gives its own last alert.
const FlushTimeout = 5 * time.Second

// want asks the loop to do what, and to look at deadlines and stop requests. On any goroutine.
func (c *Conn) want(what uint32) {
	if c.wanted.Or(what|wantPost)&wantPost == 0 {
		c.Loop().Enqueue(&c.post)
	}
}

// posted is a Conn as work for its loop.
type posted Conn

func (w *posted) Run() { (*Conn)(w).carryOut(w.wanted.Swap(0)) }

// Abandon does nothing: the loop has ended, and left nothing to do.
func (w *posted) Abandon(error) {}

// carryOut does what was wanted.
func (c *Conn) carryOut(what uint32) {
	if c.out != nil {
		c.takeInbox()
	}
	if what&wantCloseWrite != 0 {
		_ = c.closeWrite()
	}
	if what&wantClose != 0 {
		c.beginClose()
		return
	}
	if x := c.reading.now; x != nil && x.flow != nil && x.t.StopToken().StopRequested() {
		x.flow.fail(c.readError(x.reason()))
	}
	now := c.Loop().Clock()
	for _, h := range [...]*half{&c.reading, &c.writing} {
		x := h.now
		if x == nil {
			continue
		}
		if x.start == nil && x.stop.StopRequested() {
			x.cancel(sender.ErrStopped)
		} else {
			x.watch(now)
		}
	}
}

// Close closes the connection. What was written is sent nevertheless, by the kernel, as of close(2). A Read or Write
// that waits ends with net.ErrClosed. A second Close returns an error that matches net.ErrClosed.
//
// On any goroutine. In the task it returns when the socket is closed, also if the task was requested to stop. Elsewhere
// it does not wait. A Conn under [TLS] first sends its queue, for at most [FlushTimeout]; the error reports that it
// could not.
func (c *Conn) Close() error {
	if !c.state.CompareAndSwap(connOpen, connClosing) {
		return c.opError("close", net.ErrClosed)
	}
	if !c.pool.Here() {
		c.want(wantClose)
		return nil
	}
	if !c.t.Running() {
		c.carryOut(wantClose)
		return nil
	}
	defer c.mustBeClosing()
	task.Unstoppable(c.t, func() { _, _ = task.Await(c.t, endOf{c}) })
	if c.ender == nil || c.ender.err == nil {
		return nil
	}
	return c.opError("close", c.ender.err)
}

// mustBeClosing begins to close if a task that has been abandoned could not await that.
func (c *Conn) mustBeClosing() {
	if c.ender == nil {
		c.carryOut(wantClose)
	}
}

// ending closes a Conn.
//
//	flushing → closing   the queue is empty, or has failed, or took too long
//	closing → closed     the operation has completed
type ending struct {
	sender.EmptyEnv
	c     *Conn
	op    reactor.CloseOp
	timer reactor.Timer
	r     sender.Receiver[struct{}] // the task, if it waits
	err   error
	state endState
}

type endState uint8

const (
	endFlushing endState = iota
	endClosing
	endClosed
)

// beginClose ends what is awaited, and sends what is in the queue. On the loop's thread, once.
func (c *Conn) beginClose() {
	e := &ending{c: c}
	c.ender = e
	for _, h := range [...]*half{&c.reading, &c.writing} {
		c.Loop().StopTimer(&h.timer)
		if h.now != nil {
			h.now.cancel(net.ErrClosed)
		}
	}
	if c.out == nil || c.out.empty() {
		e.close()
		return
	}
	e.timer.Init(e)
	c.Loop().SetTimer(&e.timer, c.Loop().Clock()+int64(FlushTimeout))
}

// OnTimer gives up the queue, which was not sent in time.
func (e *ending) OnTimer(int64) {
	e.c.out.fail(os.ErrDeadlineExceeded)
	e.flushed()
}

// flushed closes the socket after the queue, of which nothing more will be sent.
func (e *ending) flushed() {
	if e.state == endFlushing {
		e.c.Loop().StopTimer(&e.timer)
		e.close()
	}
}

// close closes the socket.
func (e *ending) close() {
	e.state = endClosing
	if q := e.c.out; q != nil {
		e.err = q.err
	}
	e.c.s.Close().Connect(&e.op, e)
	e.op.Start()
}

// Env returns an environment without a stop token: a close cannot be stopped.
func (e *ending) Env() sender.Env { return e }

// SetValue notes that the socket is closed, and resumes a task that waits for it.
func (e *ending) SetValue(struct{}) {
	e.state = endClosed
	e.c.state.Store(connClosed)
	if e.r != nil {
		e.r.SetValue(struct{}{})
	}
}

// SetError notes the same, with the error: see [reactor.Descriptor.Close].
func (e *ending) SetError(err error) {
	if e.err == nil {
		e.err = err
	}
	e.SetValue(struct{}{})
}

// SetStopped never happens.
func (e *ending) SetStopped() { e.SetValue(struct{}{}) }

// endOf is a sender that closes a Conn. It begins on the stack of the loop: see [awaitingOp.Start].
type endOf struct{ c *Conn }

type endOfOp struct {
	c *Conn
	r sender.Receiver[struct{}]
}

func (s endOf) Connect(op *endOfOp, r sender.Receiver[struct{}]) sender.Operation {
	op.c, op.r = s.c, r
	return op
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (endOf) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }

func (o *endOfOp) Start() {
	c, r := o.c, o.r
	*o = endOfOp{}
	c.carryOut(wantClose)
	if e := c.ender; e.state == endClosed {
		r.SetValue(struct{}{})
	} else {
		e.r = r
	}
}

// CloseWrite half-closes: the peer reads EOF behind what was written. On any goroutine; off the loop's thread it does
// not wait, and does not return errors.
func (c *Conn) CloseWrite() error {
	switch {
	case c.state.Load() != connOpen:
		return c.opError("close", net.ErrClosed)
	case !c.pool.Here():
		c.want(wantCloseWrite)
		return nil
	}
	return c.opError("close", c.closeWrite())
}

func (c *Conn) closeWrite() error {
	if c.out != nil && !c.out.empty() {
		c.out.endsWrite = true
		return nil
	}
	return os.NewSyscallError("shutdown", c.s.CloseWrite())
}
