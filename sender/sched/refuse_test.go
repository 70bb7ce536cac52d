package sched_test

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// fullPool returns a pool of one worker that is busy until release is called, and that refuses all other work.
func fullPool() (p *sched.ThreadPool, release func()) {
	p = sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 1, Limit: 1})
	release = occupy(p, 1)
	sender.Execute(p, func() {})
	return p, release
}

// A missed deadline is an error through every algorithm, as it is by Deadline's own sender.
func TestMissedDeadlineIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer := drive(new(sched.TimedRunLoop))
		d := sched.Deadline{On: new(sched.RunLoop), Timer: timer.loop, Within: time.Millisecond} // no goroutine runs it
		for name, s := range map[string]sender.Any[unit]{
			"Deadline.Schedule": sender.Erase(d.Schedule()),
			"Schedule":          sender.Erase(sender.Schedule(d)),
			"StartsOn":          sender.Erase(sender.StartsOn(d, sender.Just(unit{}))),
			"ContinuesOn":       sender.Erase(sender.ContinuesOn(sender.Just(unit{}), d)),
			"task": sender.Erase(sender.WriteEnv(task.New(func(*task.T) error { return nil }),
				sender.SchedulerEnv{Sch: d})),
		} {
			if _, err := sender.SyncWait(t.Context(), s); err != os.ErrDeadlineExceeded {
				t.Errorf("%s: %v", name, err)
			}
		}
		timer.finish()
	})
}

// A limit is for new work: tasks that have begun continue, and results arrive. All of it through whatever
// schedulers there are in between.
func TestLimitIsForNewWork(t *testing.T) {
	for name, on := range map[string]func(*sched.ThreadPool) sender.Scheduler{
		"pool":     func(p *sched.ThreadPool) sender.Scheduler { return p },
		"any":      func(p *sched.ThreadPool) sender.Scheduler { return sched.AnyOf(p) },
		"fallback": func(p *sched.ThreadPool) sender.Scheduler { return sched.Fallback{First: p, Second: closedPool()} },
		"deadline": func(p *sched.ThreadPool) sender.Scheduler {
			return sched.Deadline{On: p, Timer: sched.NewThread{}, Within: time.Hour}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 1, Limit: 1})
			sch := on(p)
			l := &sendertest.Leaf[int]{Result: sendertest.Value(1)}
			work := sender.AsFuture(sender.WriteEnv(task.NewValue(func(t *task.T) (int, error) {
				n, err := task.Await(t, l)
				for range 3 {
					if err == nil {
						err = task.Yield(t)
					}
				}
				return n, err
			}), sender.SchedulerEnv{Sch: sch}))
			for l.InFlight() == 0 {
				runtime.Gosched()
			}
			release := occupy(p, 1)
			sender.Execute(p, func() {}) // the pool is full
			l.Finish()
			result := sender.AsFuture(sender.ContinuesOn(sender.Just("a resource"), sch))
			var scope sender.CountingScope
			held := &sendertest.Leaf[int]{Result: sendertest.Value(1)}
			sender.Spawn(&scope, held)
			joined := sender.AsFuture(sender.WriteEnv(scope.Join(), sender.SchedulerEnv{Sch: sch}))
			held.Finish()
			_, err := sender.SyncWait(t.Context(), sender.Schedule(p))
			if err != sender.ErrFull {
				t.Errorf("new work: %v", err)
			}
			release()
			if n, err := work.Get(t.Context()); n != 1 || err != nil {
				t.Errorf("the task ended with %d, %v", n, err)
			}
			if s, err := result.Get(t.Context()); s != "a resource" || err != nil {
				t.Errorf("the result came as %q, %v", s, err)
			}
			if _, err := joined.Get(t.Context()); err != nil {
				t.Errorf("joined: %v", err)
			}
			p.Close()
		})
	}
}

// Tasks that yield keep a small pool busy, and new work comes and is refused or not: all of it completes, and no
// task is cut short.
func TestFullPoolUnderLoad(t *testing.T) {
	p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 2, Limit: 2})
	var scope sender.CountingScope
	var done, refused, cut atomic.Int64
	scope.OnError = func(err error) {
		if !errors.Is(err, sender.ErrFull) {
			t.Error(err)
		}
		refused.Add(1)
	}
	const n = 500
	for range n {
		sender.Spawn(&scope, sender.WriteEnv(task.New(func(t *task.T) error {
			for range 5 {
				if err := task.Yield(t); err != nil {
					cut.Add(1)
				}
			}
			done.Add(1)
			return nil
		}), sender.SchedulerEnv{Sch: p}))
	}
	if _, err := sender.SyncWait(t.Context(), scope.Join()); err != nil {
		t.Error(err)
	}
	p.Close()
	if done.Load()+refused.Load() != n || cut.Load() != 0 || done.Load() == 0 {
		t.Errorf("%d done, %d refused, %d cut short", done.Load(), refused.Load(), cut.Load())
	}
}

// A full pool keeps the contract.
func TestFullPoolKeepsTheContract(t *testing.T) {
	p, release := fullPool()
	sendertest.Check(t, sender.Schedule(p), sendertest.Options[unit]{
		Accept: func(at sendertest.Point, x sendertest.Result[unit]) bool {
			return x == sendertest.Error[unit](sender.ErrFull) || at != sendertest.Never && x.Channel == sendertest.OnStopped
		},
		Restartable: true,
	})
	release()
	p.Close()
}

// Work that comes after the end of a resource is refused, timed or not; what waits for its time when the
// resource ends is stopped.
func TestEndedIsNotStopped(t *testing.T) {
	withLoop(t, func(t *testing.T, l *sched.TimedRunLoop) {
		d := drive(l)
		waiting := newJob(nil)
		l.EnqueueAt(&waiting.timed, l.Clock()+int64(time.Hour), stop.Token{})
		d.finish()
		waiting.wantReason(t, sender.ErrStopped)
		var source stop.Source
		for _, token := range []stop.Token{{}, source.Token()} {
			late := newJob(nil)
			l.EnqueueAt(&late.timed, 0, token)
			late.want(t, 0, 1)
			late.wantReason(t, sender.ErrClosed)
		}
		late := newJob(nil)
		l.Enqueue(&late.work)
		late.wantReason(t, sender.ErrClosed)
	})
}
