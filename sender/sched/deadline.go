package sched

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// Deadline is a Scheduler that gives up work which On has not begun Within that time, by Timer's clock:
// to be rid of what nobody waits for any more. The work is abandoned with os.ErrDeadlineExceeded, on Timer's
// resource, which is what its senders and those of any algorithm on it complete with. In a Fallback, that
// makes the second scheduler the one for what the first does not get to. What On and Timer refuse is as
// Schedule says.
//
// Results and the turns of tasks that are on their way to On are given up as any work is: a task that misses
// one is cut short, and its deferred functions run on Timer's resource.
//
// Work is given up on time also when On is stuck, so On cannot be relied on to hand back its storage
// first. What On and Timer hold is therefore not the caller's but from a pool, and goes back to it when
// both have let go. When warm, nothing allocates.
//
// Source: the deadline executor of P1525R1 §2.2.
type Deadline struct {
	On     sender.Scheduler
	Timer  sender.TimedScheduler
	Within time.Duration
}

// Enqueue implements sender.Scheduler.
func (d Deadline) Enqueue(w *sender.Work) {
	d.seat((*seatedWork)(w), w.Continues(), stop.Token{})
}

// seatedWork is work in a seat.
type seatedWork sender.Work

func (w *seatedWork) run()                 { w.Runner.Run() }
func (w *seatedWork) abandon(reason error) { w.Runner.Abandon(reason) }

// Schedule completes on On or, when that has not happened in time, with os.ErrDeadlineExceeded, on
// Timer's resource. Stop requested before that ends it soon, stopped, on the resource that comes to it
// first, usually Timer's; inside Start if stop was requested before. If On refuses it, it completes as
// sender.Schedule does. If Timer refuses to time it, there is no deadline.
func (d Deadline) Schedule() DeadlineSender { return DeadlineSender{d} }

// DeadlineSender is what Deadline.Schedule returns.
type DeadlineSender struct{ d Deadline }

// DeadlineOp is the operation state of Deadline.Schedule. It may be started again without connecting it
// anew.
type DeadlineOp struct {
	d Deadline
	r sender.Receiver[struct{}]
}

// Connect implements sender.Sender.
func (s DeadlineSender) Connect(op *DeadlineOp, r sender.Receiver[struct{}]) sender.Operation {
	op.d, op.r = s.d, r
	return op
}

// Start implements sender.Operation.
func (op *DeadlineOp) Start() {
	token := op.r.Env().StopToken()
	if token.StopRequested() {
		op.r.SetStopped()
		return
	}
	op.d.seat((*seatedOp)(op), false, token)
}

// seatedOp is a DeadlineOp in a seat.
type seatedOp DeadlineOp

func (op *seatedOp) run()                 { op.r.SetValue(struct{}{}) }
func (op *seatedOp) abandon(reason error) { sender.Abandon(op.r, reason) }

// seat puts a guest on a seat and has it called by both resources.
func (d Deadline) seat(g guest, continues bool, token stop.Token) {
	s := seats.Get().(*seat)
	s.guest, s.continues = g, continues
	s.ended.Store(false)
	s.held.Store(2)
	s.own.Reset()
	s.onStop.Register(token, s)
	d.Timer.EnqueueAt(&s.timer, after(d.Timer.Clock(), d.Within), s.own.Token())
	d.On.Enqueue(&s.work)
}

// guest is what has a seat. One of run and abandon is called.
type guest interface {
	run()
	abandon(reason error)
}

// seat is what a guest has in the queues of two resources. The first that calls ends the guest's stay,
// and the last lets go of the seat. A stop request goes to the timer, which can be cancelled.
type seat struct {
	guest     guest
	continues bool // see sender.Continuation; the guest may leave while On asks
	work      sender.Work
	timer     sender.TimedWork
	own       stop.Source // the timer's
	onStop    stop.Callback
	ended     atomic.Bool
	held      atomic.Int32 // by how many resources
}

var seats = sync.Pool{New: func() any {
	s := new(seat)
	s.work.Runner = (*seatWork)(s)
	s.timer.Runner = (*seatTimer)(s)
	return s
}}

// end is for whoever wants to end the stay. If it returns nil, somebody else has. Otherwise no stop
// request is at work any more.
func (s *seat) end() guest {
	if !s.ended.CompareAndSwap(false, true) {
		return nil
	}
	s.onStop.Deregister()
	g := s.guest
	s.guest = nil
	return g
}

// leave lets go of the seat.
func (s *seat) leave() {
	if s.held.Add(-1) == 0 {
		s.timer.Owner = nil
		seats.Put(s)
	}
}

// OnStop is the handler of the guest's stop.
func (s *seat) OnStop() { s.own.RequestStop() }

// seatWork is a seat as work.
type seatWork seat

func (w *seatWork) Run() {
	s := (*seat)(w)
	g := s.end()
	stopped := g != nil && !s.own.RequestStop() // the guest's stop was there first
	s.leave()
	switch {
	case g == nil:
	case stopped:
		g.abandon(sender.ErrStopped)
	default:
		g.run()
	}
}

func (w *seatWork) Abandon(reason error) {
	s := (*seat)(w)
	g := s.end()
	if g != nil {
		s.own.RequestStop()
	}
	s.leave()
	if g != nil {
		g.abandon(reason)
	}
}

// Continues implements sender.Continuation: as the guest does.
func (w *seatWork) Continues() bool { return w.continues }

// seatTimer is a seat as timed work.
type seatTimer seat

func (t *seatTimer) Run() {
	s := (*seat)(t)
	g := s.end()
	s.leave()
	if g != nil {
		g.abandon(os.ErrDeadlineExceeded)
	}
}

// Abandon: the guest was asked to stop, or its stay has ended; if neither, the timer was refused.
func (t *seatTimer) Abandon(error) {
	s := (*seat)(t)
	var g guest
	if s.own.StopRequested() {
		g = s.end()
	}
	s.leave()
	if g != nil {
		g.abandon(sender.ErrStopped)
	}
}
