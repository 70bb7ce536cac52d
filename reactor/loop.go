package reactor

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
	"github.com/reactord/reactord/timerqueue"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// LoopConfig is how a Loop is made. Its zero value works.
type LoopConfig struct {
	// Ring chooses the ring. Default: Auto.
	Ring RingKind
	// Entries is the size of the submission queue, rounded up to a power of two. Default 1024.
	Entries int
	// CPUs are those that the loop's thread may run on. Default: all that the process may.
	CPUs []int
	// Buffers sizes the loop's receive buffers.
	Buffers BufferConfig
	// Offloads is how many blocking funcs may run on other threads at a time. See Offload. Default 8.
	Offloads int
	// TimerSlack is the least that the loop sleeps for when a timer is near, so that timers which are due
	// close together are called together: each of many timers would otherwise cost a sleep of its own. A
	// timer is late by that much at most because of it. Default 50 µs, which is what the kernel gives the
	// sleeps of threads, see PR_SET_TIMERSLACK(2const), but not those in io_uring; negative: none.
	TimerSlack time.Duration
	// MinWait trades latency for CPU time: when the loop goes to sleep it sleeps for at least that long, so that more
	// completions come with each wake-up. What comes meanwhile, posts of other threads too, is late by that much at
	// most; timers are not, and after MinWait the first completion wakes the loop at once. It pays at some 10 000 to
	// 60 000 messages a second on a loop: of fewer there is nothing to be gathered, and with more the loop hardly
	// sleeps. A peer that waits for each answer before it asks again is slowed down. In steps of 1 µs, 100 ms at most;
	// default: 0, none.
	MinWait time.Duration
	// DrainTimeout is how long Run waits, once stopped, for what is in flight to be cancelled. What
	// has not completed by then is leaked, and counted. Tasks are cut short when an eighth of it is left:
	// see package task. Default 10 s.
	DrainTimeout time.Duration
	// OnTaskError is called, on the loop's thread, with the error of a task that was spawned: see Spawn.
	// Default: the loop is stopped, and Run returns the first such error.
	OnTaskError func(error)
}

// Loop is a run loop over one ring, on one OS thread.
//
// Its methods are called on its thread, that is from inside completions and from Run's own work,
// unless they say otherwise.
type Loop struct {
	ring       Ring
	sys        System
	slots      slotTable
	timers     timerqueue.Queue
	reaped     int          // completions that this turn has taken in
	arrived    *sender.Work // what other threads posted, of this turn
	ready      []uint64     // operations that finish without the ring
	spare      []uint64     // the other half of ready: those of this turn
	finished   int          // of spare
	delivering *op          // the operation that is delivering an item of its final completion, or nil: see beginDelivery
	buffers    Buffers
	now        int64 // ns on the loop's clock, as of this turn
	yielded    int64 // when the loop last yielded
	late       lateness
	tid        int
	phase      phase
	scratch    uring.SQE // for entries that belong to no operation
	cqe        uring.CQE // the completion being taken in
	count      counts

	ops       uring.OpSet // what the ring can do
	recvLimit bool        // its multishot receives can be limited
	recvMany  bool        // it has multishot recvmsg
	sendTo    bool        // its sends can be given an address

	remote remoteStack
	stops  stopStack
	missed missedCancels
	stop   atomic.Bool
	done   chan struct{}

	begun     atomic.Bool // Run or Discard was called
	home      task.CoroutinePool
	tasks     *residence // nil: none has been spawned
	taskError error      // the first that nobody handles
	jobs      jobQueue
	fixed     []byte // memory that the ring has registered; it stays until the ring is closed

	cfg       LoopConfig
	choice    Choice
	watchdog  timerqueue.Timer // runs during a drain
	gaveUp    bool             // the drain took too long
	err       error            // what Run would have returned, after a Goexit
	published uint64           // the sum of the seldom counts when they were last published
	shared    counters
	cpu       cpuTime
}

// ErrLeaked is what Run's error matches when operations did not end in time.
var ErrLeaked = errors.New("operations never completed")

// NewLoop makes a loop and its ring. The caller must Run it, or Discard it.
func NewLoop(cfg LoopConfig) (*Loop, error) {
	ring, choice, err := newRing(cfg.Ring, cfg.Entries)
	if err != nil {
		return nil, err
	}
	l, err := NewLoopOn(ring, nil, cfg)
	if err != nil {
		_ = ring.Close()
		return nil, err
	}
	l.choice = choice
	return l, nil
}

// maxMinWait is more than anybody will wait for an answer.
const maxMinWait = 100 * time.Millisecond

// NewLoopOn makes a loop on a ring of the caller's, which the loop closes; if that fails, the ring is the
// caller's to close. cfg.Ring and cfg.Entries are not looked at.
func NewLoopOn(ring Ring, sys System, cfg LoopConfig) (*Loop, error) {
	if sys == nil {
		sys = process{}
	}
	if cfg.DrainTimeout <= 0 {
		cfg.DrainTimeout = 10 * time.Second
	}
	if cfg.TimerSlack == 0 {
		cfg.TimerSlack = 50 * time.Microsecond
	}
	if cfg.Offloads <= 0 {
		cfg.Offloads = 8
	}
	if cfg.MinWait < 0 || cfg.MinWait > maxMinWait {
		return nil, fmt.Errorf("reactor: LoopConfig.MinWait %v is out of range: 0 to %v", cfg.MinWait, maxMinWait)
	}
	if cfg.MinWait > 0 {
		w, ok := ring.(minWaiter)
		if !ok {
			return nil, fmt.Errorf("reactor: a %T has no minimum wait: leave LoopConfig.MinWait out: %w", ring, errors.ErrUnsupported)
		}
		w.SetMinWait(cfg.MinWait)
	}
	caps := ring.Caps()
	l := &Loop{ring: ring, sys: sys, cfg: cfg, done: make(chan struct{}), ops: caps.Ops, recvLimit: caps.RecvLimit,
		recvMany: caps.RecvmsgMultishot, sendTo: caps.SendTo}
	if err := l.buffers.init(l, cfg.Buffers); err != nil {
		return nil, err
	}
	return l, nil
}

// Discard frees a loop that has never run. What was posted to it is abandoned.
func (l *Loop) Discard() error {
	if l.begun.Swap(true) {
		panic("reactor: Discard of a Loop that has run, is running, or was discarded")
	}
	return l.discard()
}

func (l *Loop) discard() error {
	l.refuse()
	err := l.ring.Close()
	l.buffers.unmap()
	return err
}

// Run runs the loop on the calling goroutine, which it locks to its thread, until Stop and the drain
// that follows are done. setup, if not nil, is the loop's first work. A loop runs once.
//
// A function that calls runtime.Goexit on the loop's thread, as testing's FailNow does, does not end the loop: the
// operation completes with sender.ErrGoexit, and the goroutine's deferred functions run the loop from there on. What
// cannot be helped is that Run does not return then: when the loop has ended Done is closed, and the goroutine ends.
// Until then each Goexit keeps a part of the stack.
//
// Run never unlocks the thread: let the goroutine end with it, and the Go runtime retires a thread
// whose affinity was changed.
func (l *Loop) Run(setup func()) (err error) {
	if l.begun.Swap(true) {
		panic("reactor: Run of a Loop that has run, is running, or was discarded: make a new one")
	}
	l.tid = l.sys.BindThread()
	l.home.Enter()
	defer func() {
		l.home.Leave()
		close(l.done)
	}()
	if err := l.pin(); err != nil {
		return errors.Join(err, l.discard())
	}
	if err := l.ring.Enable(); err != nil {
		return errors.Join(err, l.discard())
	}
	l.now = l.sys.Clock()
	l.cpu.start(l.sys, l.tid)
	defer l.cpu.stop(l.sys)
	return l.drive(setup)
}

// drive runs setup and then the loop. If what that calls ends the goroutine by runtime.Goexit, the deferred function is
// the loop from there on, on the same thread.
func (l *Loop) drive(setup func()) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			panic(v)
		}
		l.finishDelivery()
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
	if err != nil {
		err = l.abandon(err)
	} else {
		err = l.close()
	}
	returned = true
	return errors.Join(l.taskError, err)
}

// finishDelivery sees to it that a sequence goes on whose delivery of an item was ended by runtime.Goexit.
func (l *Loop) finishDelivery() {
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

// limited is an operation that looks after each item whether its entry is to be taken back. To look again does no harm.
type limited interface{ afterItem() }

func (l *Loop) pin() error {
	if len(l.cfg.CPUs) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, cpu := range l.cfg.CPUs {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("reactor: cannot pin a loop to CPUs %v: %w", l.cfg.CPUs, err)
	}
	return nil
}

// batch bounds what one turn takes of each kind of work, so that none can starve the others.
const batch = 512

// turn does the work that is there, in a fixed order, each kind of it bounded. It returns false when
// the loop has been stopped and is empty.
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
	if l.finished == len(l.spare) {
		if len(l.ready) == 0 {
			return
		}
		l.ready, l.spare, l.finished = l.spare[:0], l.ready, 0
	}
	for l.finished < len(l.spare) {
		id := l.spare[l.finished]
		l.finished++
		l.slots.at(slotOf(id)).resolve()
	}
}

// yieldAfter is how long a loop goes on before it yields to the scheduler, which takes some 30 µs. Go's monitor preempts
// a goroutine that has been on for 10 ms, takes its place when it is next in a system call, and then looks every 20 µs
// whether there is more to take (runtime/proc.go, sysmon): without a yield it would do so for ever, at 7 % of a CPU.
const yieldAfter = 8 * time.Millisecond

// enter gives the ring what was queued and, if there is nothing to do, sleeps until there is.
func (l *Loop) enter() error {
	l.reaped = 0
	if l.now-l.yielded >= int64(yieldAfter) {
		runtime.Gosched()
		l.yielded = l.now
	}
	l.takeStops()
	l.buffers.topUp()
	timeout := time.Duration(-1)
	if deadline, ok := l.timers.Min(); ok {
		now := l.sys.Clock() // not l.now: this turn may have lasted a while
		if timeout = time.Duration(max(deadline, now) - now); timeout > 0 {
			timeout = max(timeout, l.cfg.TimerSlack)
		}
	}
	if len(l.ready) != 0 || l.buffers.owed() || timeout != 0 && !l.sleep() {
		timeout = 0
	}
	l.publish() // before it sleeps: what is held meanwhile is to be seen
	err := l.ring.Enter(timeout)
	before := l.now
	l.now = l.sys.Clock()
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

// sleep marks the loop asleep unless another thread has left it something to do. Whoever leaves
// something later sees the mark and wakes the ring.
func (l *Loop) sleep() bool {
	if !l.remote.sleep() {
		return false
	}
	if !l.stops.empty() || l.stop.Load() && l.phase == phaseRunning {
		l.remote.unsleep()
		return false
	}
	return true
}

// nudge makes the loop look at what was left for it. From any thread.
func (l *Loop) nudge() {
	if l.remote.unsleep() {
		_ = l.ring.Wake()
	}
}

// Enqueue runs w on the loop's thread, in one of its next turns. From any thread. When the loop has
// been drained it refuses w, on the calling thread, with sender.ErrClosed. A loop that goes no further, because its
// ring failed or what is in flight did not end in time, abandons what is left as one that shuts down.
//
// It makes a Loop a sender.Scheduler.
func (l *Loop) Enqueue(w *sender.Work) {
	wake, ok := l.remote.push(w)
	switch {
	case !ok:
		w.Runner.Abandon(sender.ErrClosed)
	case wake:
		_ = l.ring.Wake()
	}
}

// Now is the time at which this turn began, in nanoseconds on CLOCK_MONOTONIC.
func (l *Loop) Now() int64 { return l.now }

// Done is closed when Run returns, or its goroutine ends. From any thread.
func (l *Loop) Done() <-chan struct{} { return l.done }

// Caps is what the loop's ring can do. From any thread.
func (l *Loop) Caps() uring.Caps { return l.ring.Caps() }

// Choice tells which ring the loop has, and why. From any thread.
func (l *Loop) Choice() Choice { return l.choice }

// Buffers are the loop's receive buffers.
func (l *Loop) Buffers() *Buffers { return &l.buffers }

// assertOnThread panics unless it is called on the loop's thread. It costs two nanoseconds.
func (l *Loop) assertOnThread() {
	if !l.home.Here() {
		l.offThread()
	}
}

// offThread panics, unless the caller is a coroutine on the loop's thread that package task does not know.
func (l *Loop) offThread() {
	switch {
	case !l.begun.Load():
		panic("reactor: an operation on a Loop that does not run yet: start it in the setup of Run, or with sender.StartsOn(loop, …)")
	case l.ended():
		panic("reactor: an operation on a Loop that has ended")
	case l.sys.Thread() != l.tid:
		panic("reactor: an operation of a Loop off the Loop's thread: " +
			"use sender.StartsOn(loop, …), or have the loop do it with sender.Execute(loop, …)")
	}
}

// ended reports whether Run has returned. From any thread.
func (l *Loop) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}
