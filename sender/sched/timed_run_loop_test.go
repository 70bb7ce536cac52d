package sched_test

import (
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// In a bubble time passes when all goroutines wait, so that what is measured is exact.
func withLoopInBubble(t *testing.T, f func(t *testing.T, l *sched.TimedRunLoop)) {
	withLoop(t, func(t *testing.T, l *sched.TimedRunLoop) {
		synctest.Test(t, func(t *testing.T) { f(t, l) })
	})
}

func TestTimersAreOnTimeAndInOrder(t *testing.T) {
	withLoopInBubble(t, func(t *testing.T, l *sched.TimedRunLoop) {
		start := l.Clock()
		var order []int64
		at := func(n int64) {
			j := newJob(func(bool) {
				if now := l.Clock() - start; now != max(n, 0) {
					t.Errorf("the timer for %d was called at %d", n, now)
				}
				order = append(order, n)
			})
			l.EnqueueAt(&j.timed, start+n, stop.Token{})
		}
		for _, n := range []int64{30, 10, 20, 10, 0, -5, 1 << 40} {
			at(n)
		}
		d := drive(l)
		time.Sleep(1 << 41)
		d.finish()
		if want := []int64{0, -5, 10, 10, 20, 30, 1 << 40}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
	})
}

// A nearer deadline that is submitted while the loop sleeps until a later one.
func TestNearerTimerWakesTheLoop(t *testing.T) {
	withLoopInBubble(t, func(t *testing.T, l *sched.TimedRunLoop) {
		d := drive(l)
		start := time.Now()
		var early, late time.Duration
		a := newJob(func(bool) { late = time.Since(start) })
		l.EnqueueAt(&a.timed, l.Clock()+int64(time.Second), stop.Token{})
		synctest.Wait()
		b := newJob(func(bool) { early = time.Since(start) })
		l.EnqueueAt(&b.timed, l.Clock()+int64(time.Millisecond), stop.Token{})
		time.Sleep(2 * time.Second)
		d.finish()
		if early != time.Millisecond || late != time.Second {
			t.Errorf("called after %v and %v", early, late)
		}
	})
}

func TestAfterCountsFromStart(t *testing.T) {
	withLoopInBubble(t, func(t *testing.T, l *sched.TimedRunLoop) {
		d := drive(l)
		s := sender.ScheduleAfter(l, time.Second)
		rec := &sendertest.Recorder[unit]{T: t}
		var op sender.ScheduleAtOp
		s.Connect(&op, rec)
		time.Sleep(time.Minute)
		start := time.Now()
		var took time.Duration
		rec.Then = func(sendertest.Result[unit]) { took = time.Since(start) }
		rec.Starting()
		op.Start()
		time.Sleep(time.Minute)
		d.finish()
		if took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestForeverIsNotThePast(t *testing.T) {
	withLoopInBubble(t, func(t *testing.T, l *sched.TimedRunLoop) {
		d := drive(l)
		forever := sendertest.Recorder[unit]{}
		past := sendertest.Recorder[unit]{}
		run(t, sender.ScheduleAfter(l, math.MaxInt64), &forever)
		run(t, sender.ScheduleAt(l, math.MinInt64), &past)
		synctest.Wait()
		if forever.Completed() || past.Result() != sendertest.Value(unit{}) {
			t.Errorf("forever: %v, the past: %v", forever.Result(), past.Result())
		}
		d.finish()
		if x := forever.Result(); x != sendertest.Stopped[unit]() {
			t.Errorf("completed with %v when the loop ended", x)
		}
	})
}

// Timers are stopped on the loop's thread when two of them are due and the loop does not know it yet.
func TestStopRacesAnUnseenDeadline(t *testing.T) {
	withLoopInBubble(t, func(t *testing.T, l *sched.TimedRunLoop) {
		d := drive(l)
		var sources [3]stop.Source
		var recs [3]sendertest.Recorder[unit]
		for i := range recs {
			recs[i].Stop = &sources[i]
			run(t, sender.ScheduleAfter(l, time.Duration(i+1)*time.Second), &recs[i])
		}
		d.do(func() {
			time.Sleep(2 * time.Second) // the loop is stuck
			for i := range sources {
				sources[i].RequestStop()
				if recs[i].Completed() {
					t.Error("completed inside the stop request")
				}
			}
		})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for i := range recs {
			if x := recs[i].Result(); x != sendertest.Stopped[unit]() && (x != sendertest.Value(unit{}) || i == 2) {
				t.Errorf("timer %d completed with %v", i, x)
			}
		}
		d.finish()
	})
}

func TestLoopThatEndsAbandonsItsTimers(t *testing.T) {
	withLoopInBubble(t, func(t *testing.T, l *sched.TimedRunLoop) {
		d := drive(l)
		armed, late := newJob(nil), newJob(nil)
		var after *job
		last := newJob(func(bool) { l.EnqueueAt(&after.timed, l.Clock()+ms, stop.Token{}) })
		after = newJob(func(bool) { l.Enqueue(&last.work) }) // abandoned, it submits once more
		l.EnqueueAt(&armed.timed, l.Clock()+ms, stop.Token{})
		synctest.Wait()
		last.then(true)
		last.then = nil
		d.finish()
		l.Enqueue(&late.work)
		l.EnqueueAt(&late.timed, l.Clock(), stop.Token{})
		armed.want(t, 0, 1)
		after.want(t, 0, 1)
		last.want(t, 1, 0)
		late.want(t, 0, 2)
	})
}

// Stop was requested after the check of the token and before EnqueueAt, so that the stop callback
// is called inside of it.
func TestEnqueueAtOfWhatIsStopped(t *testing.T) {
	withLoopInBubble(t, func(t *testing.T, l *sched.TimedRunLoop) {
		var source stop.Source
		source.RequestStop()
		d := drive(l)
		j := newJob(nil)
		l.EnqueueAt(&j.timed, l.Clock()+ms, source.Token())
		synctest.Wait()
		j.want(t, 0, 1)
		d.finish()
		l.EnqueueAt(&j.timed, l.Clock()+ms, source.Token())
		j.want(t, 0, 2)
	})
}

// A timer that is stopped in the iteration in which it is due, and is then started again: nothing of the
// first time is left for the second. Another that is stopped with it, and is not due, is abandoned.
func TestNothingIsLeftOfAStopThatCameLate(t *testing.T) {
	withLoopInBubble(t, func(t *testing.T, l *sched.TimedRunLoop) {
		var source stop.Source
		d := drive(l)
		var j *job
		j = newJob(func(ran bool) {
			if j.ran+j.abandoned == 1 {
				l.EnqueueAt(&j.timed, l.Clock()+ms, stop.Token{})
			}
		})
		first := newJob(func(bool) { source.RequestStop() }) // due just before
		at := l.Clock() + ms
		l.EnqueueAt(&first.timed, at, stop.Token{})
		other := newJob(nil)
		l.EnqueueAt(&other.timed, at+1000*ms, source.Token())
		l.EnqueueAt(&j.timed, at, source.Token()) // the latest is stopped first
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		other.want(t, 0, 1)
		j.want(t, 2, 0)
		d.finish()
	})
}

// The loop ends while timers are armed, submitted, stopped and due on several threads.
func TestLoopEndsUnderLoad(t *testing.T) {
	const threads, timers, loops = 3, 50, 40
	for range loops {
		d := drive(new(sched.TimedRunLoop))
		jobs := make([]*job, threads*timers)
		var all, started sync.WaitGroup
		all.Add(2 * len(jobs))
		for i := range threads {
			started.Go(func() {
				for n := range timers {
					j := newJob(func(bool) { all.Done() })
					jobs[i*timers+n] = j
					source := new(stop.Source)
					d.loop.EnqueueAt(&j.timed, d.loop.Clock()+int64(n%3)*1000, source.Token())
					if n == timers/2 {
						d.stop.RequestStop()
					}
					d.loop.Enqueue(&j.work)
					source.RequestStop()
				}
			})
		}
		started.Wait()
		d.finish()
		all.Wait()
		for _, j := range jobs {
			if j.ran+j.abandoned != 2 {
				t.Fatalf("ran %d times and was abandoned %d times", j.ran, j.abandoned)
			}
		}
	}
}

// Timers that are started again inside their completion, and stopped by another thread all the while.
func TestTimersAreUsedAgainWhileTheyAreStopped(t *testing.T) {
	const timers, again = 8, 300
	withLoop(t, func(t *testing.T, l *sched.TimedRunLoop) {
		d := drive(l)
		var all sync.WaitGroup
		all.Add(timers)
		for i := range timers {
			p := &perpetual{t: t, left: again, done: all.Done}
			sender.ScheduleAfter(l, time.Duration(i)*10*time.Microsecond).Connect(&p.op, p).Start()
		}
		all.Wait()
		d.finish()
	})
}

// perpetual is a timer that starts itself again and is stopped by a goroutine each time.
type perpetual struct {
	t      *testing.T
	op     sender.ScheduleAtOp
	source *stop.Source
	left   int
	done   func()
}

func (p *perpetual) again() {
	if p.left--; p.left == 0 {
		p.done()
		return
	}
	p.source = new(stop.Source)
	go p.source.RequestStop()
	p.op.Start()
}

func (p *perpetual) SetValue(unit)      { p.again() }
func (p *perpetual) SetStopped()        { p.again() }
func (p *perpetual) SetError(err error) { p.t.Error(err) }
func (p *perpetual) Env() sender.Env    { return (*perpetualEnv)(p) }

type perpetualEnv perpetual

func (p *perpetualEnv) StopToken() stop.Token {
	if p.source == nil {
		return stop.Token{}
	}
	return p.source.Token()
}
func (p *perpetualEnv) Scheduler() sender.Scheduler { return nil }
func (p *perpetualEnv) Value(any) any               { return nil }
