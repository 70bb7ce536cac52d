package sched_test

import (
	"math"
	"testing"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/sendertest"
)

const rounds = 25

// checkSchedule checks that sender.Schedule on s keeps the contract.
func checkSchedule(t *testing.T, s sender.Scheduler, here func() bool) {
	t.Helper()
	sendertest.Check(t, on(t, sender.Schedule(s), here), sendertest.Options[unit]{
		Accept: accept, Restartable: true, Rounds: rounds,
	})
}

// checkTimed checks that ScheduleAfter on s keeps the contract: when it is due immediately, soon, and late.
func checkTimed(t *testing.T, s sender.TimedScheduler, here func() bool) {
	t.Helper()
	for _, d := range []time.Duration{-time.Second, 0, 20 * time.Microsecond} {
		sendertest.Check(t, on(t, sender.ScheduleAfter(s, d), here), sendertest.Options[unit]{
			Accept: accept, Restartable: true, Rounds: rounds,
		})
	}
	sendertest.Check(t, sender.ScheduleAfter(s, time.Hour), sendertest.Options[unit]{
		Accept: onlyStopped, Restartable: true, Endless: true, Rounds: rounds,
	})
}

func TestLoopsKeepTheContract(t *testing.T) {
	withLoop(t, func(t *testing.T, l *sched.TimedRunLoop) {
		d := drive(l)
		checkSchedule(t, l, d.here)
		checkTimed(t, l, d.here)
		d.finish()
	})
}

// All on the loop's own thread: started there, stopped there, and completed there.
func TestLoopsKeepTheContractOnTheirThread(t *testing.T) {
	withLoop(t, func(t *testing.T, l *sched.TimedRunLoop) {
		d := drive(l)
		for _, after := range []time.Duration{0, 20 * time.Microsecond} {
			sendertest.Check(t, sender.ScheduleAfter(l, after), sendertest.Options[unit]{
				Accept: accept, Restartable: true, Rounds: rounds, Do: d.do, Where: d.here,
			})
		}
		sendertest.Check(t, sender.ScheduleAfter(l, time.Hour), sendertest.Options[unit]{
			Accept: onlyStopped, Restartable: true, Rounds: rounds, Do: d.do, Where: d.here, Endless: true,
		})
		d.finish()
	})
}

func TestInlineKeepsTheContract(t *testing.T) {
	checkSchedule(t, sched.Inline{}, func() bool { return called("sched.Inline.Enqueue") })
}

func TestNewThreadKeepsTheContract(t *testing.T) {
	checkSchedule(t, sched.NewThread{}, func() bool { return called("sched.NewThread.Enqueue.func1") })
	checkTimed(t, sched.NewThread{}, func() bool { return called("(*sleepingThread).sleep") })
	if _, err := sender.SyncWait(t.Context(), sender.ScheduleAt(sched.NewThread{}, math.MinInt64)); err != nil {
		t.Errorf("the past: %v", err)
	}
}

func TestGoroutinesKeepTheContract(t *testing.T) {
	g := sched.Goroutines{}
	checkSchedule(t, g, func() bool { return called("sched.run") })
	checkTimed(t, g, func() bool { return called("(*runtimeTimer).expire") || called("(*runtimeTimer).cancel") })
	if _, err := sender.SyncWait(t.Context(), sender.ScheduleAt(g, math.MinInt64)); err != nil {
		t.Errorf("the past: %v", err)
	}
}

func inPool() bool       { return called("(*ThreadPool).work") }
func inDispatcher() bool { return called("(*ThreadDispatcher).run") }

func TestThreadPoolKeepsTheContract(t *testing.T) {
	p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 3})
	defer p.Close()
	checkSchedule(t, p, inPool)
}

func TestThreadDispatcherKeepsTheContract(t *testing.T) {
	d := sched.NewThreadDispatcher(2)
	defer d.Close()
	checkSchedule(t, d, inDispatcher)
	ids := sender.Then(d.Schedule(), func(id int) unit {
		if id != 1 && id != 2 {
			t.Errorf("on thread %d of 2", id)
		}
		return unit{}
	})
	sendertest.Check(t, on(t, ids, inDispatcher), sendertest.Options[unit]{
		Accept: accept, Restartable: true, Rounds: rounds,
	})
}

func TestAnyKeepsTheContract(t *testing.T) {
	p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 2})
	defer p.Close()
	checkSchedule(t, sched.AnyOf(p), inPool)
}

func TestFallbackKeepsTheContract(t *testing.T) {
	closed := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 1})
	closed.Close()
	p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 2})
	defer p.Close()
	checkSchedule(t, sched.Fallback{First: p, Second: closed}, inPool)
	checkSchedule(t, sched.Fallback{First: closed, Second: p}, inPool)

	ended := new(sched.TimedRunLoop)
	drive(ended).finish()
	d := drive(new(sched.TimedRunLoop))
	checkSchedule(t, sched.TimedFallback{First: ended, Second: d.loop}, d.here)
	checkTimed(t, sched.TimedFallback{First: d.loop, Second: ended}, d.here)
	checkTimed(t, sched.TimedFallback{First: ended, Second: d.loop}, d.here)
	d.finish()
}

func TestDeadlineKeepsTheContract(t *testing.T) {
	p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 2})
	d := drive(new(sched.TimedRunLoop))
	inTime := sched.Deadline{On: p, Timer: d.loop, Within: math.MaxInt64}
	checkSchedule(t, inTime, inPool)
	sendertest.Check(t, on(t, inTime.Schedule(), inPool), sendertest.Options[unit]{
		Accept: accept, Restartable: true, Rounds: rounds,
	})
	// The two are about as fast as each other, so that all outcomes occur.
	sendertest.Check(t, sched.Deadline{On: p, Timer: d.loop}.Schedule(), sendertest.Options[unit]{
		Restartable: true, Rounds: rounds,
		Accept: func(p sendertest.Point, x sendertest.Result[unit]) bool {
			return accept(p, x) || x.Channel == sendertest.OnError && p != sendertest.BeforeStart
		},
	})
	p.Close()
	d.finish()
}
