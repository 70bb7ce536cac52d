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
// to be rid of what nobody waits for any more. Its own senders then complete with an error. As a plain
// Scheduler it has no channel for that, and abandons the work, on Timer's resource; in a Fallback, that
// makes the second scheduler the one for what the first does not get to.
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
	d.seat((*seatedWork)(w), stop.Token{})
}

// seatedWork is work in a seat.
type seatedWork sender.Work

func (w *seatedWork) run()     { w.Runner.Run() }
func (w *seatedWork) expire()  { w.Runner.Abandon() }
func (w *seatedWork) abandon() { w.Runner.Abandon() }

// Schedule completes on On or, when that has not happened in time, with os.ErrDeadlineExceeded, on
// Timer's resource. Stop requested before that ends it soon, stopped, on Timer's resource; inside Start if
// stop was requested before. It also completes stopped if On refuses it. If Timer refuses to time it,
// there is no deadline.
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
func (s DeadlineSender) Connect(op *DeadlineOp, r sender.Receiver[struct{}]) { op.d, op.r = s.d, r }

// Start implements sender.Operation.
func (op *DeadlineOp) Start() {
	token := op.r.Env().StopToken()
	if token.StopRequested() {
		op.r.SetStopped()
		return
	}
	op.d.seat((*seatedOp)(op), token)
}

// seatedOp is a DeadlineOp in a seat.
type seatedOp DeadlineOp

func (op *seatedOp) run()     { op.r.SetValue(struct{}{}) }
func (op *seatedOp) expire()  { op.r.SetError(os.ErrDeadlineExceeded) }
func (op *seatedOp) abandon() { op.r.SetStopped() }

// seat puts a guest on a seat and has it called by both resources.
func (d Deadline) seat(g guest, token stop.Token) {
	s := seats.Get().(*seat)
	s.guest = g
	s.ended.Store(false)
	s.held.Store(2)
	s.own.Reset()
	s.onStop.Register(token, s)
	d.Timer.EnqueueAt(&s.timer, after(d.Timer.Clock(), d.Within), s.own.Token())
	d.On.Enqueue(&s.work)
}

// guest is what has a seat. One of these is called.
type guest interface {
	run()
	expire()
	abandon()
}

// seat is what a guest has in the queues of two resources. The first that calls ends the guest's stay,
// and the last lets go of the seat. A stop request goes to the timer, which can be cancelled.
type seat struct {
	guest  guest
	work   sender.Work
	timer  sender.TimedWork
	own    stop.Source // the timer's
	onStop stop.Callback
	ended  atomic.Bool
	held   atomic.Int32 // by how many resources
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
		g.abandon()
	default:
		g.run()
	}
}

func (w *seatWork) Abandon() {
	s := (*seat)(w)
	g := s.end()
	if g != nil {
		s.own.RequestStop()
	}
	s.leave()
	if g != nil {
		g.abandon()
	}
}

// seatTimer is a seat as timed work.
type seatTimer seat

func (t *seatTimer) Run() {
	s := (*seat)(t)
	g := s.end()
	s.leave()
	if g != nil {
		g.expire()
	}
}

// Abandon: the guest was asked to stop, or its stay has ended; if neither, the timer was refused.
func (t *seatTimer) Abandon() {
	s := (*seat)(t)
	var g guest
	if s.own.StopRequested() {
		g = s.end()
	}
	s.leave()
	if g != nil {
		g.abandon()
	}
}
