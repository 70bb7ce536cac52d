//go:build linux

package reactor_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// lateTurns is a loop whose tasks are resumed late, except for the first time: the thread that enqueues a task blocks
// until proceed is closed.
type lateTurns struct {
	*reactor.Loop
	begun            atomic.Bool
	arrived, proceed chan struct{}
}

func (s *lateTurns) Unwrap() sender.Scheduler { return s.Loop }

func (s *lateTurns) Enqueue(w *sender.Work) {
	if s.begun.Swap(true) {
		close(s.arrived)
		<-s.proceed
	}
	s.Loop.Enqueue(w)
}

// A task whose operation has completed on another thread ends as other tasks do, even if it is being enqueued when the
// drain has ended.
func TestTaskEnqueuedAtTheEndOfADrain(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, DrainTimeout: 20 * time.Millisecond})
		th := sendertest.NewThread(t)
		l := &sendertest.Leaf[int]{Result: sendertest.Value(1)}
		s := &lateTurns{Loop: r.Loop, arrived: make(chan struct{}), proceed: make(chan struct{})}
		deferred := 0
		sender.StartDetached(sender.WriteEnv(task.New(func(tk *task.T) error {
			defer func() { deferred++ }()
			_, err := task.Await(tk, l)
			return err
		}), sender.SchedulerEnv{Sch: s}))
		for l.InFlight() == 0 {
			r.do(func() {})
		}
		th.Do(func() { l.Finish() })
		<-s.arrived
		r.Stop()
		if err := r.wait(); !errors.Is(err, task.ErrAbandoned) {
			t.Errorf("Run: %v, want one that names the task", err)
		}
		if deferred != 1 {
			t.Error("the task's function has not ended")
		}
		close(s.proceed)
		th.Wait()
	})
}

// Operations that an aborted task starts in its deferred functions complete: its socket is closed.
func TestAbortedTaskClosesItsSocket(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, DrainTimeout: 40 * time.Millisecond})
		s, peer := r.pair()
		defer unix.Close(peer)
		waiting := make(chan struct{})
		r.Spawn(task.New(func(t *task.T) error {
			defer func() { sender.Submit(s.Close(), sender.Discard[struct{}]{}) }()
			close(waiting)
			_, err := task.Await(t, never{})
			return err
		}))
		<-waiting
		r.Stop()
		if err := r.wait(); !errors.Is(err, task.ErrAbandoned) {
			t.Errorf("Run: %v, want one that names the task", err)
		}
		if fd := s.Fd(); fd >= 0 {
			t.Error("the socket was not closed")
			unix.Close(fd)
		}
	})
}

// brokenRing is a loop whose ring fails on demand.
func brokenRing(t *testing.T, kind reactor.RingKind) (r *running, fail func()) {
	broken := new(atomic.Bool)
	l, h := hook(t, kind, reactor.LoopConfig{})
	h.enter = func(time.Duration) error {
		if broken.Load() {
			return errBroken
		}
		return nil
	}
	return runLoop(t, l), func() { broken.Store(true) }
}

var errBroken = errors.New("broken")

// A task whose operation has completed when the ring fails is still resumed.
func TestReadyTaskWhenTheRingFails(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, fail := brokenRing(t, kind)
		var stopped stop.Source
		stopped.RequestStop()
		deferred, awaits := 0, 0
		r.Spawn(task.New(func(tk *task.T) error {
			defer func() { deferred++ }()
			for {
				// It completes by the loop's ready queue, and the task is resumed by it in the next turn.
				_, _ = task.Await(tk, sender.WriteEnv(r.SleepFor(time.Hour), sender.StopEnv{Token: stopped.Token()}))
				if awaits++; awaits == 10 {
					r.Enqueue(&newWork(fail, nil).Work)
				}
			}
		}))
		if err := r.wait(); !errors.Is(err, errBroken) {
			t.Errorf("Run: %v", err)
		}
		if deferred != 1 {
			t.Error("the task's function has not ended")
		}
	})
}

// onStop is an operation that, when it is stopped, calls f and completes.
type onStop struct{ f func() }

type onStopOp struct {
	onStop
	r        sender.Receiver[struct{}]
	callback stop.Callback
}

func (s onStop) Connect(op *onStopOp, r sender.Receiver[struct{}]) sender.Operation {
	op.onStop, op.r = s, r
	return op
}
func (op *onStopOp) Start() { op.callback.Register(op.r.Env().StopToken(), op) }

func (op *onStopOp) OnStop() {
	op.f()
	op.callback.Deregister()
	op.r.SetStopped()
}

// What a task awaits on another thread completes after the loop's ring has failed, when the loop no longer takes work
// and has not aborted its tasks yet.
func TestCompletionWhileTheRingFails(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, fail := brokenRing(t, kind)
		th := sendertest.NewThread(t)
		l := &sendertest.Leaf[int]{Result: sendertest.Value(1)}
		got, ended := 0, 0
		r.Spawn(task.New(func(tk *task.T) (err error) {
			defer func() { ended++ }()
			got, err = task.Await(tk, l)
			return err
		}))
		waiting := make(chan struct{})
		r.Spawn(task.New(func(tk *task.T) error {
			defer func() { ended++ }()
			close(waiting)
			_, err := task.Await(tk, onStop{func() {
				th.Do(func() { l.Finish() })
				th.Wait()
			}})
			return err
		}))
		<-waiting
		r.do(fail)
		if err := r.wait(); !errors.Is(err, errBroken) {
			t.Errorf("Run: %v", err)
		}
		if got != 1 || ended != 2 {
			t.Errorf("%d functions have ended, and the first got %d", ended, got)
		}
	})
}

// What a task awaits on another thread is stopped when the task's loop drains, unless the task shields it.
func TestDrainStopsWhatIsElsewhere(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, DrainTimeout: time.Hour})
		waiting := make(chan struct{})
		shielded := &sendertest.Leaf[int]{OnStop: sendertest.Inline, Result: sendertest.Value(1)}
		r.Spawn(task.New(func(tk *task.T) error {
			task.Unstoppable(tk, func() {
				if n, err := task.Await(tk, shielded); n != 1 || err != nil {
					t.Errorf("shielded: %d, %v", n, err)
				}
			})
			return nil
		}))
		r.Spawn(task.New(func(tk *task.T) error {
			close(waiting)
			_, err := task.Await(tk, onStop{func() {}})
			shielded.Finish()
			return err
		}))
		<-waiting
		r.endTasks()
	})
}
