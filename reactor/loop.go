//go:build linux

package reactor

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
	"github.com/reactord/reactord/timerqueue"
	"github.com/reactord/reactord/uring"
)

// Loop is a run loop over one ring, on one OS thread.
//
// Its methods are called on its thread, which is where completions and the setup of [Loop.Run] are called, unless they
// say otherwise.
type Loop struct {
	ring       host.Ring
	sys        host.System
	slots      slotTable
	owned      ownedFDs
	timers     timerqueue.Queue
	reaped     int          // completions that this turn has taken
	arrived    *sender.Work // what other threads posted, for this turn
	ready      []uint64     // operations that finish without the ring
	finishing  []uint64     // those of this turn; the two slices take turns
	finished   int          // how many of finishing have finished
	delivering *op          // the operation that delivers an item of its final completion, or nil: see beginDelivery
	buffers    Buffers
	whole      *Buffers // for whole datagrams; nil until first used
	now        int64    // ns on the loop's clock, when the turn began
	yielded    int64    // when the loop last yielded
	late       lateness
	tid        atomic.Int64 // of the thread; 0: Run has not been called
	phase      phase
	scratch    uring.SQE // for entries that belong to no operation
	accepted   Address   // that of the peer, as accept4 writes it in TryAcceptFrom
	cqe        uring.CQE // the completion that is being taken
	count      counts

	ops       uring.OpSet // what the ring can do
	recvLimit bool        // its multishot receives can be limited
	recvMany  bool        // it has multishot recvmsg
	sendTo    bool        // its sends can be given an address

	remote  remoteStack
	stops   stopStack
	watches *stopWatch // those that are free
	missed  missedCancels
	futile  futileSends
	stop    atomic.Bool
	done    chan struct{}

	begun      atomic.Bool     // Run or Discard was called
	unused     runtime.Cleanup // frees a loop that was forgotten before that
	coroutines task.CoroutinePool
	tasks      *taskOp // nil if the loop has no coroutines
	failed     error   // what Run returns besides its own error: see Fail
	jobs       jobQueue
	fixed      []byte // memory that the ring has registered; it stays until the ring is closed

	cfg       LoopConfig
	choice    RingChoice
	watchdog  timerqueue.Timer // bounds a drain
	gaveUp    bool             // the drain took too long
	reported  bool             // see reportLeft
	err       error            // what Run would have returned, after a Goexit
	published uint64           // the sum of the rare counts when they were last published
	shared    sharedCounts
	cpu       cpuTime
	turns     turnClock
	name      string
	hosted    bool         // it is on a real machine, not on a simulated one
	goroutine atomic.Int64 // the number of its goroutine
}

// Run runs the loop on the calling goroutine, which it locks to its thread. It returns when the loop has been stopped
// and has drained. setup, if not nil, is the loop's first work; it fails by [Loop.Fail]. A loop runs once.
//
// A function that calls runtime.Goexit on the loop's thread, as FailNow of package testing does, does not end the loop:
// the operation completes with [sender.ErrGoexit], and from there on the deferred functions of the goroutine run the
// loop. But Run can no longer return: when the loop has drained, [Loop.Done] is closed and the goroutine ends. Until
// then each Goexit keeps a part of the stack.
//
// Run never unlocks the thread. Let the goroutine end after Run: the Go runtime then retires the thread, whose affinity
// may have been changed.
func (l *Loop) Run(setup func()) (err error) {
	if l.begun.Swap(true) {
		panic("reactor: Run of a Loop that has run, is running, or was discarded: make a new one")
	}
	l.unused.Stop()
	tid := l.sys.BindThread()
	l.tid.Store(int64(tid))
	l.coroutines.Enter()
	defer func() {
		l.coroutines.Leave()
		close(l.done)
	}()
	if err := l.pin(); err != nil {
		return errors.Join(err, l.discard())
	}
	if err := l.ring.Enable(); err != nil {
		return errors.Join(err, l.discard())
	}
	l.now = l.sys.Clock()
	l.cpu.start(l.sys, tid)
	defer l.stopClocks()
	l.beginTurn()
	if l.hosted {
		defer l.label()()
		defer turnWatch.watch(l)()
	}
	return l.drive(setup)
}

// stopClocks stops measuring the CPU time and the turns of a loop that has ended.
func (l *Loop) stopClocks() {
	l.readCPU()
	l.turns.began.Store(0)
	l.cpu.thread.Store(0)
}

func (l *Loop) pin() error {
	if len(l.cfg.CPUs) == 0 {
		return nil
	}
	if err := l.sys.Pin(l.cfg.CPUs); err != nil {
		return fmt.Errorf("reactor: cannot pin a loop to CPUs %v: %w", l.cfg.CPUs, err)
	}
	return nil
}

// drive runs setup and then the loop. If a function that the loop calls ends the goroutine by runtime.Goexit, the
// deferred function runs the loop from there on, on the same thread.
func (l *Loop) drive(setup func()) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			panic(v)
		}
		l.resumeDelivery()
		l.err = l.drive(nil)
	}()
	if setup != nil {
		setup()
	}
	for l.phase != phaseClosed && l.turn() {
		if err = l.enter(); err != nil {
			break
		}
	}
	l.reportLeft()
	if err != nil {
		err = l.abandon(err)
	} else {
		err = l.close()
	}
	returned = true
	return errors.Join(l.failed, err)
}

// resumeDelivery resumes the sequence that was delivering an item when runtime.Goexit was called, if there is one.
func (l *Loop) resumeDelivery() {
	if l.delivering != nil {
		l.ready = append(l.ready, l.delivering.id)
		l.delivering = nil
		return
	}
	if !l.cqe.More() {
		return
	}
	if s := l.slots.find(l.cqe.UserData); s != nil {
		if o, ok := s.run.(limited); ok {
			o.afterItem()
		}
	}
}

// limited is an operation that checks, at least after each item, whether its entry has to be cancelled.
type limited interface{ afterItem() }

// batch bounds what one turn takes of each kind of work, so that none can starve the others.
const batch = 512

// turn does the work that there is, in a fixed order, each kind of it bounded. It returns false when the loop has been
// stopped and has drained.
func (l *Loop) turn() bool {
	if n := l.reap(); !l.late.holdBack(n) {
		l.expire()
	}
	l.takeRemote()
	l.runReady()
	return l.phase == phaseRunning && !l.stop.Load() || !l.drained()
}

// reap takes completions in, and returns how many this turn has taken in.
func (l *Loop) reap() int {
	cqe := &l.cqe // a local one would escape through the interface
	for l.reaped < batch && l.ring.Pop(cqe) {
		l.reaped++
		l.count.completions++
		s := l.slots.find(cqe.UserData)
		switch {
		case s == nil:
			l.count.stale++
			if assert.Enabled {
				panic(fmt.Sprintf("reactor: a completion of nothing: %+v", *cqe))
			}
		case cqe.UserData&0xff == tagCancel:
			s.op.settleCancel(s.run, cqe.Res)
		case cqe.More():
			s.op.item(s.run, cqe.Res, cqe.Flags)
		default:
			s.op.settle(s.run, cqe.Res, cqe.Flags)
		}
	}
	return l.reaped
}

// expire calls the timers that are due.
func (l *Loop) expire() {
	for range min(l.timers.Len()+1, batch) { // once more than there may be: an empty queue gives memory back
		t := l.timers.Pop(l.now)
		if t == nil {
			return
		}
		l.count.timers++
		l.late.timers.add(l.now - t.Deadline())
		t.Handler.OnTimer(l.now)
	}
}

// takeRemote runs what other threads posted.
func (l *Loop) takeRemote() {
	if l.arrived == nil {
		l.arrived = l.remote.take()
	}
	for w := l.arrived; w != nil; w = l.arrived {
		l.arrived, w.Next = w.Next, nil
		l.count.posts++
		w.Runner.Run()
	}
}

// runReady finishes the operations that were ready when it began.
func (l *Loop) runReady() {
	if l.finished == len(l.finishing) {
		if len(l.ready) == 0 {
			return
		}
		l.ready, l.finishing, l.finished = l.finishing[:0], l.ready, 0
	}
	for l.finished < len(l.finishing) {
		id := l.finishing[l.finished]
		l.finished++
		l.slots.at(slotOf(id)).resolve()
	}
}

// yieldAfter is the time that a loop runs before it yields to the scheduler, which takes some 30 µs. Go's monitor
// preempts a goroutine that has run for 10 ms, takes its processor when it is next in a system call, and then checks
// every 20 µs whether it can take more (runtime/proc.go, sysmon). Without a yield it would never stop checking, at 7 %
// of a CPU.
const yieldAfter = 8 * time.Millisecond

// enter submits what was queued and, if there is nothing to do, sleeps until there is.
func (l *Loop) enter() error {
	l.reaped = 0
	if l.now-l.yielded >= int64(yieldAfter) {
		l.sys.Yield()
		l.yielded = l.now
	}
	l.takeStops()
	l.refill()
	timeout := time.Duration(-1)
	now := l.sys.Clock() // not l.now: this turn may have taken a while
	l.endTurn(now)
	if deadline, ok := l.timers.Min(); ok {
		if timeout = time.Duration(max(deadline, now) - now); timeout > 0 {
			timeout = max(timeout, l.cfg.TimerSlack)
		}
	}
	if len(l.ready) != 0 || l.mustRefill() || timeout != 0 && !l.sleep() {
		timeout = 0
	}
	l.publish() // before the loop sleeps, so that readers see what it holds meanwhile
	if timeout != 0 {
		l.turns.began.Store(0)
	}
	err := l.ring.Enter(timeout)
	before := l.now
	l.now = l.sys.Clock()
	l.beginTurn()
	if timeout != 0 {
		l.remote.unsleep()
	}
	l.count.enters++
	if l.late.judge(l.now-before, timeout) && err == nil {
		l.count.enters++
		return l.ring.Enter(0) // the wait may have ended by its timeout
	}
	return err
}

// Now returns the time at which this turn began, in nanoseconds of a monotonic clock that is common to all loops of the
// process and has no meaning outside it.
func (l *Loop) Now() int64 { return l.now }

// Done returns a channel that is closed when Run returns, or its goroutine ends. From any thread.
func (l *Loop) Done() <-chan struct{} { return l.done }

// Caps returns what the loop's ring can do, and may: see LoopConfig.Restrict. From any thread.
func (l *Loop) Caps() uring.Caps {
	c := l.ring.Caps()
	c.Ops = l.ops
	return c
}

// RingChoice returns which ring the loop has, and why. From any thread.
func (l *Loop) RingChoice() RingChoice { return l.choice }

// CPUs returns the CPUs that the loop's thread may run on: LoopConfig.CPUs. It is empty if those are all that the
// process may run on. The caller must not change it. From any thread.
func (l *Loop) CPUs() []int { return l.cfg.CPUs }

// Buffers returns the loop's receive buffers.
func (l *Loop) Buffers() *Buffers { return &l.buffers }
