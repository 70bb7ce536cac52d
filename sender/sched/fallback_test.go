package sched_test

import (
	"errors"
	"math"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

func closedPool() *sched.ThreadPool {
	p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 1})
	p.Close()
	return p
}

func TestFallbackAsksTheSecondOnlyWhenRefused(t *testing.T) {
	l := new(sched.RunLoop)
	j := newJob(nil)
	sched.Fallback{First: sched.Inline{}, Second: closedPool()}.Enqueue(&j.work)
	j.want(t, 1, 0)
	sched.Fallback{First: closedPool(), Second: l}.Enqueue(&j.work)
	j.want(t, 1, 0)
	l.Finish()
	l.Run()
	j.want(t, 2, 0)
	sched.Fallback{First: closedPool(), Second: closedPool()}.Enqueue(&j.work)
	j.want(t, 2, 1)
}

func TestTimedFallbackConvertsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, d := drive(new(sched.TimedRunLoop)), drive(new(sched.TimedRunLoop))
		ended.finish()
		start := time.Now()
		var took time.Duration
		s := sched.TimedFallback{First: slow{ended.loop}, Second: d.loop}
		rec := &sendertest.Recorder[unit]{Then: func(sendertest.Result[unit]) { took = time.Since(start) }}
		run(t, sender.ScheduleAfter(s, time.Minute), rec)
		time.Sleep(time.Hour)
		d.finish()
		if x := rec.Result(); x != sendertest.Value(unit{}) || took != time.Minute {
			t.Errorf("%v after %v", x, took)
		}
	})
}

// Deadlines at the ends of time stay there, though the clocks differ.
func TestTimedFallbackAtTheEndsOfTime(t *testing.T) {
	l := new(sched.TimedRunLoop)
	var over stop.Source
	over.RequestStop()
	l.Run(over.Token())
	for _, now := range []int64{-2 * ms, 0, 2 * ms} {
		second := &manual{now: now}
		f := sched.TimedFallback{First: l, Second: second}
		early, late := newJob(nil), newJob(nil)
		f.EnqueueAt(&late.timed, math.MaxInt64, stop.Token{})
		f.EnqueueAt(&early.timed, math.MinInt64, stop.Token{})
		second.tick(int64(time.Hour))
		early.want(t, 1, 0)
		late.want(t, 0, 0)
	}
}

// slow is a scheduler whose clock is slow by a year.
type slow struct{ sender.TimedScheduler }

func (s slow) Clock() int64 { return s.TimedScheduler.Clock() - 365*24*int64(time.Hour) }

func TestTimedFallbackDoesNotTryWhatIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(new(sched.TimedRunLoop))
		var source stop.Source
		j := newJob(nil)
		f := sched.TimedFallback{First: d.loop, Second: never{d.loop, t}}
		f.EnqueueAt(&j.timed, d.loop.Clock()+ms, source.Token())
		source.RequestStop()
		synctest.Wait()
		j.want(t, 0, 1)
		d.finish()
	})
}

// never is a scheduler that is not to be asked.
type never struct {
	sender.TimedScheduler
	t *testing.T
}

func (n never) EnqueueAt(w *sender.TimedWork, _ int64, _ stop.Token) {
	n.t.Error("the second was asked")
	w.Runner.Abandon(nil)
}

func TestAnyKeepsEquality(t *testing.T) {
	p, q := new(sched.RunLoop), new(sched.TimedRunLoop)
	a := sched.AnyOf(p)
	switch {
	case a != sched.AnyOf(p), a != sched.AnyOf(sched.AnyOf(p)), !a.Equal(p), !a.Equal(sched.AnyOf(p)), a.Unwrap() != p:
		t.Error("one resource, and not equal")
	case a == sched.AnyOf(q), a.Equal(q), a.Equal(sched.Inline{}), a.Equal(new(sched.RunLoop)):
		t.Error("two resources, and equal")
	case sched.Any{} != sched.AnyOf(sched.Inline{}), sched.AnyOf(nil) != sched.Any{}, !(sched.Any{}).Equal(sched.Inline{}):
		t.Error("no Any is not Inline")
	case sched.Fallback{First: p, Second: q} != sched.Fallback{First: p, Second: q}:
		t.Error("one fallback, and not equal")
	}
	if _, ok := a.Timed(); ok {
		t.Error("a RunLoop is timed")
	}
	if s, ok := sched.AnyOf(q).Timed(); !ok || s != q {
		t.Error("a TimedRunLoop is not timed")
	}
	if c := sched.AnyOf(sched.Inline{}).CompletionBehavior(); c != sender.Inline {
		t.Errorf("inline completes %v", c)
	}
	if c := a.CompletionBehavior(); c != sender.Anywhere {
		t.Errorf("a RunLoop completes %v", c)
	}
	j := newJob(nil)
	sched.Any{}.Enqueue(&j.work)
	j.want(t, 1, 0)
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 1})
		d := drive(new(sched.TimedRunLoop))
		s := sched.Deadline{On: p, Timer: d.loop, Within: time.Second}

		var source stop.Source
		release := occupy(p, 1)
		start := time.Now()
		var took time.Duration
		late := &sendertest.Recorder[unit]{Then: func(sendertest.Result[unit]) {
			took = time.Since(start)
			if !d.here() {
				t.Error("expired on a wrong thread")
			}
		}}
		stopped := &sendertest.Recorder[unit]{Stop: &source}
		j := newJob(nil)
		run(t, s.Schedule(), late)
		run(t, s.Schedule(), stopped)
		s.Enqueue(&j.work)
		synctest.Wait()
		source.RequestStop()
		synctest.Wait()
		if x := stopped.Result(); x != sendertest.Stopped[unit]() {
			t.Errorf("stopped: %v", x)
		}
		time.Sleep(time.Second)
		synctest.Wait() // the pool is still stuck
		if x := late.Result(); !errors.Is(x.Err, os.ErrDeadlineExceeded) || took != time.Second {
			t.Errorf("late: %v after %v", x, took)
		}
		j.want(t, 0, 1)
		release()

		inTime := &sendertest.Recorder[unit]{Then: func(sendertest.Result[unit]) {
			if !inPool() {
				t.Error("in time on a wrong thread")
			}
		}}
		run(t, s.Schedule(), inTime)
		synctest.Wait()
		if x := inTime.Result(); x != sendertest.Value(unit{}) {
			t.Errorf("in time: %v", x)
		}
		p.Close()
		d.finish()
	})
}

// A deadline on which either of the two is closed.
func TestDeadlineRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(new(sched.TimedRunLoop))
		refused := new(sendertest.Recorder[unit])
		run(t, sched.Deadline{On: closedPool(), Timer: d.loop, Within: time.Second}.Schedule(), refused)
		if x := refused.Result(); x != sendertest.Error[unit](sender.ErrClosed) {
			t.Errorf("refused: %v", x)
		}
		j := newJob(nil)
		sched.Deadline{On: closedPool(), Timer: d.loop, Within: time.Second}.Enqueue(&j.work)
		j.want(t, 0, 1)
		d.finish()
		p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 1})
		untimed := new(sendertest.Recorder[unit])
		run(t, sched.Deadline{On: p, Timer: d.loop}.Schedule(), untimed)
		synctest.Wait()
		if x := untimed.Result(); x != sendertest.Value(unit{}) {
			t.Errorf("without a timer: %v", x)
		}
		p.Close()
	})
}

// Stop is requested while neither resource runs. The one with the work runs first. And a client that
// has left takes its timer with it.
func TestDeadlineOfResourcesThatSleep(t *testing.T) {
	var on sched.RunLoop
	var timer sched.TimedRunLoop
	var source, over stop.Source
	stopped, ran := &sendertest.Recorder[unit]{Stop: &source}, new(sendertest.Recorder[unit])
	s := sched.Deadline{On: &on, Timer: &timer, Within: time.Hour}
	run(t, s.Schedule(), stopped)
	run(t, s.Schedule(), ran)
	source.RequestStop()
	on.Finish()
	on.Run()
	if x := stopped.Result(); x != sendertest.Stopped[unit]() {
		t.Errorf("stopped: %v", x)
	}
	if x := ran.Result(); x != sendertest.Value(unit{}) {
		t.Errorf("ran: %v", x)
	}
	// The timers are submitted, then cancelled, and then this is run: nothing is armed by then.
	sender.Execute(&timer, func() {
		if n := sched.Armed(&timer); n != 0 {
			t.Errorf("%d timers are armed", n)
		}
		over.RequestStop()
	})
	timer.Run(over.Token())
}

// Deadlines are missed, met and stopped concurrently, on several threads, with few pooled entries.
func TestDeadlineUnderLoad(t *testing.T) {
	const threads, each = 3, 500
	p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 2})
	d := drive(new(sched.TimedRunLoop))
	s := sched.Deadline{On: p, Timer: d.loop, Within: 10 * time.Microsecond}
	var all sync.WaitGroup
	for range threads {
		all.Go(func() {
			for range each {
				done := make(chan unit)
				var source stop.Source
				rec := &sendertest.Recorder[unit]{Stop: &source, Then: func(sendertest.Result[unit]) { close(done) }}
				run(t, s.Schedule(), rec)
				source.RequestStop()
				<-done
				j := newJob(func(bool) { all.Done() })
				all.Add(1)
				s.Enqueue(&j.work)
			}
		})
	}
	all.Wait()
	p.Close()
	d.finish()
}
