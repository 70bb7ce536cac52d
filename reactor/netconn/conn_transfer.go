//go:build linux

package netconn

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// half is one direction of a Conn: its deadline, and what is awaited.
type half struct {
	now      *transfer     // what is awaited; nil: nothing
	deadline atomic.Int64  // of SetDeadline, on the loop's clock; 0: none
	timer    reactor.Timer // see transfer.watch
	armed    int64         // when the timer is due; 0: it is not pending
}

// passed as a deadline is one that has passed: on a loop's clock 0 is never.
const passed = 1

// OnTimer is called on the loop's thread.
func (h *half) OnTimer(now int64) {
	h.armed = 0
	if h.now != nil {
		h.now.watch(now)
	}
}

// transfer is something that a Conn awaits: an operation on its socket, or room in its queue. It is embedded in what
// has the operation state. Those that are idle are in a pool, so that a Conn that awaits nothing holds none of them,
// and all are one type for package task, which keeps an operation state for each type that a task has awaited.
//
//	idle → prepared       prepare
//	prepared → in flight  begin, inside task.Await
//	in flight → done      the operation has completed
//	done → idle           the task has taken the result
//
// A task that is abandoned leaves its transfer prepared or in flight.
type transfer struct {
	c    *Conn
	h    *half
	t    *task.T
	op   sender.Operation          // nil: it waits for room
	r    sender.Receiver[struct{}] // the task
	stop stop.Source               // for the operation
	task stop.Callback             // forwards the task's token
	end  stop.Callback             // forwards the token of SetDrain

	n       int
	err     error
	cause   error // why the operation was requested to stop; nil: because the task was
	expires int64 // when SetIdle ends it; 0: not
	room    int   // without op: how many bytes may be in the queue
	done    bool
}

func (x *transfer) prepare(c *Conn, h *half, op sender.Operation) {
	x.c, x.h, x.op = c, h, op
	x.n, x.err, x.cause, x.expires, x.done = 0, nil, nil, 0, false
}

// await starts the transfer and returns its result.
func (x *transfer) await(t *task.T) (int, error) {
	x.t = t
	_, _ = task.Await(t, awaiting{x})
	if !x.done { // the task has been abandoned
		return 0, sender.ErrStopped
	}
	return x.n, x.err
}

// idle reports whether the transfer may be used again.
func (x *transfer) idle() bool {
	if x.done {
		x.c, x.h, x.t, x.op, x.r, x.err, x.cause = nil, nil, nil, nil, nil, nil, nil
	}
	return x.done
}

// begin is the start of the awaited operation.
func (x *transfer) begin() {
	c, h := x.c, x.h
	if h.now != nil {
		panic("netconn: two tasks Read or two tasks Write the same connection at once: let one wait for the other")
	}
	if x.err = x.early(); x.err != nil {
		x.complete()
		return
	}
	h.now = x
	x.stop.Reset()
	if token := x.t.StopToken(); token.StopPossible() {
		x.task.Register(token, (*stopHandler)(x))
	}
	if h == &c.reading && c.drain.StopPossible() {
		x.end.Register(c.drain, (*stopHandler)(x))
	}
	if x.expires != 0 || h.deadline.Load() != 0 {
		x.watch(c.Loop().Now())
	}
	if x.op != nil {
		x.op.Start()
	} else {
		c.checkRoom()
	}
}

// early is why the operation must not be started; nil: nothing.
func (x *transfer) early() error {
	c := x.c
	switch {
	case c.state.Load() != connOpen:
		return net.ErrClosed
	case x.h.deadline.Load() == passed:
		return os.ErrDeadlineExceeded
	}
	if c.idle > 0 {
		x.expires = c.Loop().Clock() + int64(c.idle)
	}
	if d := x.h.deadline.Load(); d != 0 && d <= c.Loop().Clock() {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// watch ends the transfer if its deadline has passed, and else has the timer call again. A timer that is due earlier
// stays as it is, so that deadlines that move ahead with each Read do not move the timer.
func (x *transfer) watch(now int64) {
	due, h := x.expires, x.h
	if d := h.deadline.Load(); d != 0 && (due == 0 || d < due) {
		due = d
	}
	switch {
	case due == 0:
	case due <= now:
		x.cancel(os.ErrDeadlineExceeded)
	case h.armed == 0 || due < h.armed:
		h.armed = due
		x.c.Loop().SetTimer(&h.timer, due)
	}
}

// cancel requests the transfer to end because of cause, or completes it if it waits for room. On the loop's thread.
func (x *transfer) cancel(cause error) {
	if x.cause == nil {
		x.cause = cause
	}
	x.stop.RequestStop()
	if x.op == nil {
		x.err = x.cause
		x.complete()
	}
}

// stopHandler forwards stop requests, on the thread that requests.
type stopHandler transfer

func (x *stopHandler) OnStop() {
	x.stop.RequestStop()
	if x.op == nil {
		x.c.want(0) // the loop's thread finds that it was stopped
	}
}

// complete resumes the task.
func (x *transfer) complete() {
	x.task.Deregister()
	x.end.Deregister()
	if x.h.now == x {
		x.h.now = nil
	}
	x.done = true
	x.r.SetValue(struct{}{})
}

// short is the error of a transfer that moved a part only.
func (x *transfer) short() error {
	switch {
	case x.cause != nil:
		return x.cause
	case x.c.state.Load() != connOpen:
		return net.ErrClosed
	}
	return sender.ErrStopped
}

// SetError and the next ones are called by the operation on the socket.
func (x *transfer) SetError(err error) {
	x.err = err
	x.complete()
}

// SetStopped is called if the operation had no result.
func (x *transfer) SetStopped() {
	if x.err = x.cause; x.err == nil {
		x.err = sender.ErrStopped
	}
	x.complete()
}

// SetValue takes the number of bytes.
func (x *transfer) SetValue(n int) {
	x.n = n
	x.complete()
}

// Env is the environment of the operation.
func (x *transfer) Env() sender.Env { return (*transferEnv)(x) }

type transferEnv transfer

func (x *transferEnv) StopToken() stop.Token       { return x.stop.Token() }
func (x *transferEnv) Scheduler() sender.Scheduler { return x.c.Loop() }
func (x *transferEnv) Value(key any) any           { return x.t.Env().Value(key) }

// awaiting is a transfer as the sender that a task awaits.
type awaiting struct{ x *transfer }

// awaitingOp is its operation state.
type awaitingOp struct{ x *transfer }

func (a awaiting) Connect(op *awaitingOp, r sender.Receiver[struct{}]) sender.Operation {
	a.x.r, op.x = r, a.x
	return op
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (awaiting) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }

func (o *awaitingOp) Start() {
	x := o.x
	o.x = nil // the coroutine keeps the state
	x.begin()
}

// recv receives into memory of the caller.
type recv struct {
	transfer
	op reactor.RecvOp
}

// recvLease receives into a buffer of the loop.
type recvLease struct {
	transfer
	op    reactor.RecvLeaseOp
	lease reactor.Lease
}

// leaseReceiver is a recvLease as the receiver of its operation.
type leaseReceiver recvLease

func (x *leaseReceiver) SetValue(l reactor.Lease) {
	x.lease = l
	x.transfer.SetValue(l.Len())
}

func (x *leaseReceiver) SetError(err error) { x.transfer.SetError(err) }
func (x *leaseReceiver) SetStopped()        { x.transfer.SetStopped() }
func (x *leaseReceiver) Env() sender.Env    { return x.transfer.Env() }

// send sends memory of the caller.
type send struct {
	transfer
	op reactor.SendOp
}

var (
	recvs  = sync.Pool{New: func() any { return new(recv) }}
	leases = sync.Pool{New: func() any { return new(recvLease) }}
	sends  = sync.Pool{New: func() any { return new(send) }}
	rooms  = sync.Pool{New: func() any { return new(transfer) }}
)

// granularity is to what deadlines are rounded up: net.Conn has them as points in time, and what is left until then is
// counted on the loop's clock. Rounded, it does not depend on how long the call takes, and a run on a simulated kernel
// can be repeated.
const granularity = time.Millisecond

// onLoopClock is a deadline on the loop's clock; 0: none.
func onLoopClock(l *reactor.Loop, t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	left := time.Until(t)
	if left <= 0 {
		return passed
	}
	left = (left + granularity - 1) / granularity * granularity
	return l.Clock() + int64(max(left, granularity))
}

// SetDeadline sets the deadlines of Read and of Write, also for those that wait now. What is left until t is rounded
// up to a millisecond and counted on the loop's clock; [Conn.SetIdle] is exact. The zero Time is none. On any
// goroutine.
func (c *Conn) SetDeadline(t time.Time) error {
	err := c.SetReadDeadline(t)
	_ = c.SetWriteDeadline(t)
	return err
}

// SetReadDeadline is [Conn.SetDeadline] for Read.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(&c.reading, t) }

// SetWriteDeadline is [Conn.SetDeadline] for Write.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(&c.writing, t) }

func (c *Conn) setDeadline(h *half, t time.Time) error {
	if c.state.Load() != connOpen {
		return c.opError("set", net.ErrClosed)
	}
	h.deadline.Store(onLoopClock(c.Loop(), t))
	switch {
	case !c.pool.Here():
		c.want(0)
	case h.now != nil:
		h.now.watch(c.Loop().Clock())
	}
	return nil
}
