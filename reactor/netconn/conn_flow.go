//go:build linux

package netconn

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// flow is a WriteTo from a Conn to a Conn of the same loop: the receivers of its operations start the next ones, and
// the task awaits the end. So a message costs no switch to the task and back, and the task is on as little stack as
// can be.
//
// Its transfer is the half that receives. The half that sends is a portion, while there is something to send.
//
//	open    → ending   EOF, an error, a deadline, the token of SetDrain: what was received is sent nevertheless
//	any     → failing  sending has failed, or the task was requested to stop: what was received is dropped
//	ending, failing → the task continues   nothing is being received or sent
type flow struct {
	transfer
	to        *Conn
	recv      reactor.RecvManyOp
	out       *portion        // that is being sent, or nil
	queue     []reactor.Lease // to be sent next
	err       error           // of the end
	state     flowState
	receiving bool // recv has not completed
}

type flowState uint8

const (
	flowOpen flowState = iota
	flowEnding
	flowFailing
)

const (
	// flowCredit is the most receive buffers that a flow may hold. Then it receives no more until it has sent some.
	flowCredit = 16
	// joined is the size up to which what was received behind what waits to be sent is copied there, so that small
	// messages leave together.
	joined = 2 << 10
)

var (
	flows    sync.Pool
	portions = sync.Pool{New: func() any { return new(portion) }}
)

func init() {
	flows.New = func() any {
		f := new(flow)
		f.recycle = func() {
			f.recv, f.to, f.flow, f.err, f.state = reactor.RecvManyOp{}, nil, nil, nil, flowOpen
			flows.Put(f)
		}
		return f
	}
}

// errNoStream reports that a Conn is no stream, whose bytes a flow could join.
var errNoStream = errors.New("netconn: the socket is no stream")

// newFlow makes a flow of a request.
func (c *Conn) newFlow(to *Conn) *flow {
	f := flows.Get().(*flow)
	f.to, f.flow = to, f
	c.s.RecvMany(flowCredit).Adaptive().Connect(&f.recv, (*flowReceiver)(f))
	f.start, f.receiving = &f.recv, true
	return f
}

// isStream reports whether bytes may be joined. On the loop's thread.
func (c *Conn) isStream() bool {
	typ, err := c.s.Type()
	return err == nil && typ == unix.SOCK_STREAM
}

// flowReceiver is a flow as the receiver of what arrives.
type flowReceiver flow

// SetNext takes what has arrived.
func (r *flowReceiver) SetNext(l reactor.Lease) {
	f := (*flow)(r)
	switch {
	case f.state == flowFailing:
		l.Release()
	case f.out != nil:
		f.enqueue(l)
	default:
		f.expires = 0 // Reads do not wait while something is sent
		f.send(l)
	}
}

// SetValue ends receiving at EOF.
func (r *flowReceiver) SetValue(struct{}) { (*flow)(r).received(nil) }

// SetError ends receiving because the connection has failed.
func (r *flowReceiver) SetError(err error) { (*flow)(r).received(err) }

// SetStopped ends receiving because of cancel, a stop request, or a drain of the loop.
func (r *flowReceiver) SetStopped() {
	f := (*flow)(r)
	if f.cause == nil && f.t.StopToken().StopRequested() {
		f.fail(sender.ErrStopped)
	}
	f.received(f.reason())
}

func (r *flowReceiver) Env() sender.Env { return r.transfer.Env() }

// received notes that nothing more will be received, because of err, or of EOF if that is nil.
func (f *flow) received(err error) {
	f.receiving = false
	if f.state == flowOpen {
		f.state, f.err = flowEnding, f.c.readError(err)
	}
	f.finish()
}

// enqueue lets l wait until what is being sent has been sent.
func (f *flow) enqueue(l reactor.Lease) {
	if n := len(f.queue); n != 0 && l.Len() <= joined {
		last := &f.queue[n-1]
		if last.Len()+l.Len() <= f.c.Loop().Buffers().Size() && last.Append(l.Bytes()) {
			f.giveBack(l)
			return
		}
	}
	f.queue = append(f.queue, l)
}

// giveBack returns a lease, and lets as much be received again.
func (f *flow) giveBack(l reactor.Lease) {
	credits := l.Credits()
	l.Release()
	if f.receiving {
		f.recv.Grant(credits)
	}
}

// send sends what was received.
func (f *flow) send(l reactor.Lease) {
	to := f.to
	h := &to.writing
	if err := to.early(h); err != nil {
		l.Release()
		f.fail(to.writeError(err))
		f.finish()
		return
	}
	p := portions.Get().(*portion)
	p.flow, p.lease, p.c, p.h = f, l, to, h
	to.s.SendAll(l.Bytes()).Connect(&p.op, p)
	p.start = &p.op
	f.out, h.now = p, &p.transfer
	if to.idle > 0 {
		p.expires = to.Loop().Now() + int64(to.idle)
	}
	if p.expires != 0 || h.deadline.Load() != 0 {
		p.watch(to.Loop().Now())
	}
	p.op.Start()
}

// sent takes in that n bytes have been sent, fewer than all because of err, and sends what is next.
func (f *flow) sent(l reactor.Lease, n int, err error) {
	f.out = nil
	f.h.n += int64(n)
	f.giveBack(l)
	switch {
	case err != nil:
		f.fail(f.to.writeError(err))
	case len(f.queue) != 0:
		next := f.queue[0]
		f.queue = append(f.queue[:0], f.queue[1:]...)
		f.send(next)
		return
	case f.receiving:
		f.await()
		return
	}
	f.finish()
}

// await lets the idle time of a Read begin, which waits again.
func (f *flow) await() {
	c := f.c
	if c.idle > 0 {
		f.expires = c.Loop().Now() + int64(c.idle)
		f.watch(c.Loop().Now())
	}
}

// fail ends the flow. What was received and not sent is dropped.
func (f *flow) fail(err error) {
	if f.state == flowFailing {
		return
	}
	f.state, f.err = flowFailing, err
	for _, l := range f.queue {
		l.Release()
	}
	clear(f.queue)
	f.queue = f.queue[:0]
	if f.out != nil {
		f.out.stop.RequestStop()
	}
	if f.receiving {
		f.stop.RequestStop()
	}
}

// finish resumes the task if nothing is in flight.
func (f *flow) finish() {
	if f.receiving || f.out != nil {
		return
	}
	f.complete(f.h.n, f.err)
}

// portion is the part that a flow is sending. Its transfer is the half of the Conn that it is sent to.
type portion struct {
	transfer
	op    reactor.SendOp
	lease reactor.Lease
}

// SetValue takes the number of bytes that were sent.
func (p *portion) SetValue(n int) {
	var err error
	if n < p.lease.Len() {
		err = p.reason()
	}
	p.ended(n, err)
}

// SetError ends the portion because the connection has failed.
func (p *portion) SetError(err error) { p.ended(0, err) }

// SetStopped ends the portion, of which nothing was sent.
func (p *portion) SetStopped() { p.ended(0, p.reason()) }

func (p *portion) ended(n int, err error) {
	f, l := p.flow, p.lease
	p.h.now = nil
	p.c, p.h, p.flow, p.cause, p.expires, p.lease = nil, nil, nil, nil, 0, reactor.Lease{}
	if p.stop.StopRequested() {
		p.stop.Reset()
	}
	portions.Put(p)
	f.sent(l, n, err)
}

// Env returns the environment of the operation.
func (p *portion) Env() sender.Env { return (*portionEnv)(p) }

type portionEnv portion

func (p *portionEnv) StopToken() stop.Token       { return p.stop.Token() }
func (p *portionEnv) Scheduler() sender.Scheduler { return p.c.Loop() }
func (p *portionEnv) Value(key any) any           { return p.flow.t.Env().Value(key) }
