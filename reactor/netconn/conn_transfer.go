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

// half is one direction of a Conn: its deadline, the transfer that is awaited, and the last result.
type half struct {
	now      *transfer     // the transfer that is awaited, or nil
	deadline atomic.Int64  // of SetDeadline, on the loop's clock; 0 for none
	timer    reactor.Timer // see transfer.watch
	armed    int64         // when the timer is due; 0 if it is not pending
	n        int64         // of the last transfer: the bytes moved,
	err      error         // and its error
}

// passed as a deadline is one that has passed: on a loop's clock 0 is never.
const passed = 1

// OnTimer looks at the deadline again, on the loop's thread.
func (h *half) OnTimer(now int64) {
	h.armed = 0
	if h.now != nil {
		h.now.watch(now)
	}
}

// request describes the transfer to await next. It is in the Conn, because the stack of a task is small: a stack of 2
// KiB instead of 4 is half of what an idle connection takes.
type request struct {
	t    *task.T // that waits
	what action
	p    []byte           // to receive into, or to send
	addr *reactor.Address // to send to, or to receive
	to   *Conn            // of a flow
	room int              // how many bytes may be in the queue
}

type action uint8

const (
	actRecv action = iota
	actLease
	actFlow
	actRecvFrom
	actSend
	actSendTo
	actRoom // wait until there is room in the queue
)

// await awaits c.next in the Conn's task.
func (c *Conn) await() (int, error) {
	c.next.t = c.t
	return c.awaitIn()
}

// awaitIn awaits c.next in the task c.next.t.
func (c *Conn) awaitIn() (int, error) {
	h := &c.reading
	if c.next.what >= actSend {
		h = &c.writing
	}
	if _, err := task.Await(c.next.t, awaiting{c}); err != nil {
		return 0, err // the task has been abandoned
	}
	if h.err != nil {
		return int(h.n), c.failure(h)
	}
	return int(h.n), nil
}

// failure returns the error of the last transfer of a half as package net would.
//
//go:noinline
func (c *Conn) failure(h *half) error {
	if h == &c.reading {
		return c.readError(h.err)
	}
	return c.writeError(h.err)
}

// awaiting is c.next as a sender. It is one type for all requests, because package task keeps an operation state for
// each type that a task has awaited.
type awaiting struct{ c *Conn }

// awaitingOp is its operation state.
type awaitingOp struct {
	c *Conn
	r sender.Receiver[struct{}]
}

func (a awaiting) Connect(op *awaitingOp, r sender.Receiver[struct{}]) sender.Operation {
	op.c, op.r = a.c, r
	return op
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (awaiting) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }

// Start begins the transfer. Package task calls it on the stack of the loop, so it is here that memory is allocated.
func (o *awaitingOp) Start() {
	c, r := o.c, o.r
	*o = awaitingOp{} // the coroutine keeps the state
	a := c.next
	c.next = request{}
	c.begin(&a, r)
}

func (c *Conn) begin(a *request, r sender.Receiver[struct{}]) {
	h := &c.reading
	if a.what >= actSend {
		h = &c.writing
	}
	if h.now != nil {
		panic("netconn: two tasks Read, or two tasks Write, the same Conn: let one wait for the other")
	}
	if err := c.early(h); err != nil {
		if h.n, h.err = 0, err; a.what == actFlow { // whose error is complete
			h.err = c.readError(err)
		}
		r.SetValue(struct{}{})
		return
	}
	var x *transfer
	switch a.what {
	case actRecv:
		o := recvs.Get().(*recv)
		c.s.Recv(a.p).Connect(&o.op, o)
		x, o.start = &o.transfer, &o.op
	case actLease:
		o := leases.Get().(*recvLease)
		c.s.RecvLease().Connect(&o.op, (*leaseReceiver)(o))
		x, o.start = &o.transfer, &o.op
	case actFlow:
		if !c.isStream() {
			h.n, h.err = 0, errNoStream
			r.SetValue(struct{}{})
			return
		}
		h.n = 0
		x = &c.newFlow(a.to).transfer
	case actSend:
		o := sends.Get().(*send)
		o.want = len(a.p)
		c.s.SendAll(a.p).Connect(&o.op, o)
		x, o.start = &o.transfer, &o.op
	case actRecvFrom:
		o := messages.Get().(*recvMessage)
		o.from = a.addr
		c.s.RecvFrom(a.p).Connect(&o.op, (*messageReceiver)(o))
		x, o.start = &o.transfer, &o.op
	case actSendTo:
		o := datagrams.Get().(*sendDatagram)
		c.s.SendTo(a.p, *a.addr).Connect(&o.op, o)
		x, o.start = &o.transfer, &o.op
	default:
		x = rooms.Get().(*transfer)
		x.most = a.room
	}
	x.c, x.h, x.t, x.r = c, h, a.t, r
	x.begin()
}

// early returns why a transfer must not be started, or nil.
func (c *Conn) early(h *half) error {
	d := h.deadline.Load()
	switch {
	case c.state.Load() != connOpen:
		return net.ErrClosed
	case d == passed || d != 0 && d <= c.Loop().Clock():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// transfer is something that a Conn awaits: an operation on its socket, or room in its queue. It is the first field of
// a structure with the operation state. Idle ones are in a pool, so a Conn that awaits nothing holds none of them.
type transfer struct {
	c     *Conn
	h     *half
	t     *task.T                   // that waits
	r     sender.Receiver[struct{}] // the same
	start sender.Operation          // nil if it waits for room
	stop  stop.Source               // for the operation
	task  stop.Callback             // forwards the task's token
	end   stop.Callback             // forwards the token of SetDrain

	cause   error // why the operation was requested to stop; nil if the task was
	expires int64 // when SetIdle ends it; 0 for never
	want    int   // the bytes to be sent
	most    int   // without start: how many bytes may be in the queue
	flow    *flow // that this is a part of, or nil
	recycle func()
}

// begin starts the operation.
func (x *transfer) begin() {
	c, h := x.c, x.h
	h.now = x
	x.stop.Reset()
	if token := x.t.StopToken(); token.StopPossible() {
		x.task.Register(token, (*stopHandler)(x))
	}
	if h == &c.reading && c.drain.StopPossible() {
		x.end.Register(c.drain, (*stopHandler)(x))
	}
	if c.idle > 0 {
		x.expires = c.Loop().Clock() + int64(c.idle)
	}
	if x.expires != 0 || h.deadline.Load() != 0 {
		x.watch(c.Loop().Now())
	}
	if x.start != nil {
		x.start.Start()
	} else if h.now == x {
		c.checkRoom()
	}
}

// watch ends the transfer if its deadline has passed, and else sets the timer to call again. A timer that is due
// earlier stays as it is, so that deadlines that move ahead with each Read do not move the timer.
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

// cancel requests the transfer to end because of cause. On the loop's thread.
func (x *transfer) cancel(cause error) {
	if x.cause == nil {
		x.cause = cause
	}
	if x.start != nil {
		x.stop.RequestStop()
	} else {
		x.complete(0, x.cause)
	}
}

// stopHandler forwards stop requests, on the thread that requests.
type stopHandler transfer

func (x *stopHandler) OnStop() {
	x.stop.RequestStop()
	if x.start == nil || x.flow != nil {
		x.c.want(0) // the loop's thread finds that it was stopped
	}
}

// complete resumes the task. The transfer may be used again from then on.
func (x *transfer) complete(n int64, err error) {
	x.task.Deregister()
	x.end.Deregister()
	h, r := x.h, x.r
	h.now, h.n, h.err = nil, n, err
	x.c, x.h, x.t, x.r, x.cause, x.expires = nil, nil, nil, nil, nil, 0
	x.recycle()
	r.SetValue(struct{}{})
}

// SetError and the next ones take the result of the operation on the socket.
func (x *transfer) SetError(err error) { x.complete(0, err) }

// SetStopped completes the transfer with the reason for which the operation had no result.
func (x *transfer) SetStopped() { x.complete(0, x.reason()) }

// SetValue takes the number of bytes. Fewer than wanted were sent if the operation was stopped.
func (x *transfer) SetValue(n int) {
	if n < x.want {
		x.complete(int64(n), x.reason())
	} else {
		x.complete(int64(n), nil)
	}
}

// reason returns why the operation ended early.
func (x *transfer) reason() error {
	switch {
	case x.cause != nil:
		return x.cause
	case x.c.state.Load() != connOpen:
		return net.ErrClosed
	}
	return sender.ErrStopped
}

// Env returns the environment of the operation.
func (x *transfer) Env() sender.Env { return (*transferEnv)(x) }

type transferEnv transfer

func (x *transferEnv) StopToken() stop.Token       { return x.stop.Token() }
func (x *transferEnv) Scheduler() sender.Scheduler { return x.c.Loop() }
func (x *transferEnv) Value(key any) any           { return x.t.Env().Value(key) }

// recv receives into memory of the caller.
type recv struct {
	transfer
	op reactor.RecvOp
}

// recvLease receives into a buffer of the loop.
type recvLease struct {
	transfer
	op reactor.RecvLeaseOp
}

// leaseReceiver is a recvLease as the receiver of its operation.
type leaseReceiver recvLease

func (x *leaseReceiver) SetValue(l reactor.Lease) {
	x.c.leased = l
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

// recvMessage receives a datagram.
type recvMessage struct {
	transfer
	op   reactor.RecvMsgOp
	from *reactor.Address
}

// messageReceiver is a recvMessage as the receiver of its operation.
type messageReceiver recvMessage

func (x *messageReceiver) SetValue(m reactor.Message) {
	*x.from = m.From
	x.transfer.SetValue(m.N)
}

func (x *messageReceiver) SetError(err error) { x.transfer.SetError(err) }
func (x *messageReceiver) SetStopped()        { x.transfer.SetStopped() }
func (x *messageReceiver) Env() sender.Env    { return x.transfer.Env() }

// sendDatagram sends one.
type sendDatagram struct {
	transfer
	op reactor.SendToOp
}

// Each pool's transfers know how to return there. What the operation states refer to is forgotten.
var recvs, leases, sends, rooms, messages, datagrams sync.Pool

func init() {
	recvs.New = func() any {
		x := new(recv)
		x.recycle = func() { x.op = reactor.RecvOp{}; recvs.Put(x) }
		return x
	}
	leases.New = func() any {
		x := new(recvLease)
		x.recycle = func() { x.op = reactor.RecvLeaseOp{}; leases.Put(x) }
		return x
	}
	sends.New = func() any {
		x := new(send)
		x.recycle = func() { x.op = reactor.SendOp{}; sends.Put(x) }
		return x
	}
	messages.New = func() any {
		x := new(recvMessage)
		x.recycle = func() { x.op, x.from = reactor.RecvMsgOp{}, nil; messages.Put(x) }
		return x
	}
	datagrams.New = func() any {
		x := new(sendDatagram)
		x.recycle = func() { x.op = reactor.SendToOp{}; datagrams.Put(x) }
		return x
	}
	rooms.New = func() any {
		x := new(transfer)
		x.recycle = func() { rooms.Put(x) }
		return x
	}
}

// granularity is the unit to which deadlines are rounded up: net.Conn has them as points in time, and the time left
// until then is counted on the loop's clock. Rounded, it does not depend on how long the call takes, and a run on a
// simulated kernel can be repeated.
const granularity = time.Millisecond

// onLoopClock converts a deadline to the loop's clock; 0 for none.
func onLoopClock(l *reactor.Loop, t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	left := time.Until(t)
	if left <= 0 {
		return passed
	}
	if up := left.Truncate(granularity); up < left {
		left = up + granularity
	}
	return l.Clock() + int64(max(left, granularity))
}

// SetDeadline sets the deadlines of Read and of Write, also for those that wait now. The time left until t is rounded
// up to a millisecond and counted on the loop's clock; [Conn.SetIdle] is exact. The zero Time means no deadline. On any
// goroutine.
func (c *Conn) SetDeadline(t time.Time) error {
	err := c.SetReadDeadline(t)
	_ = c.SetWriteDeadline(t)
	return err
}

// SetReadDeadline sets the deadline of Read, as [Conn.SetDeadline] does.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(&c.reading, t) }

// SetWriteDeadline sets the deadline of Write, as [Conn.SetDeadline] does.
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
