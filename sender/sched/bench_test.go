package sched_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/stop"
)

// A timer is armed in one iteration of the loop and stopped in the next, on the loop's thread.
func BenchmarkTimerStopped(b *testing.B) { benchmarkStopped(b, new(sched.TimedRunLoop), 1) }

// A thousand timers are armed and stopped at a time.
func BenchmarkTimerStoppedOfThousand(b *testing.B) {
	benchmarkStopped(b, new(sched.TimedRunLoop), 1000)
}

// A timer is due, with a token that could stop it.
func BenchmarkTimerDue(b *testing.B) { benchmarkDue(b, new(sched.TimedRunLoop)) }

// armedTimer is a timer with its receiver.
type armedTimer struct {
	sender.EmptyEnv
	op     sender.ScheduleAtOp
	source stop.Source
	then   func()
}

func (a *armedTimer) SetValue(unit)         { a.then() }
func (a *armedTimer) SetError(error)        { a.then() }
func (a *armedTimer) SetStopped()           { a.then() }
func (a *armedTimer) Env() sender.Env       { return a }
func (a *armedTimer) StopToken() stop.Token { return a.source.Token() }

func benchmarkStopped(b *testing.B, l *sched.TimedRunLoop, atATime int) {
	var ended stop.Source
	timers := make([]armedTimer, atATime)
	left, completed := b.N, 0
	var round func()
	next := newJob(func(bool) { round() })
	stopAll := newJob(func(bool) {
		for i := range timers {
			timers[i].source.RequestStop()
		}
	})
	round = func() {
		for i := range timers {
			timers[i].source.Reset()
			timers[i].op.Start()
		}
		l.Enqueue(&stopAll.work)
	}
	for i := range timers {
		a := &timers[i]
		a.then = func() {
			left--
			if completed++; completed < len(timers) {
				return
			}
			completed = 0
			if left <= 0 {
				ended.RequestStop()
			} else {
				l.Enqueue(&next.work)
			}
		}
		sender.ScheduleAfter(l, time.Hour).Connect(&a.op, a)
	}
	l.Enqueue(&next.work)
	b.ReportAllocs()
	b.ResetTimer()
	l.Run(ended.Token())
}

func benchmarkDue(b *testing.B, l *sched.TimedRunLoop) {
	var ended stop.Source
	left := b.N
	a := new(armedTimer)
	a.then = func() {
		if left--; left <= 0 {
			ended.RequestStop()
		} else {
			a.op.Start()
		}
	}
	sender.ScheduleAfter(l, 0).Connect(&a.op, a).Start()
	b.ReportAllocs()
	b.ResetTimer()
	l.Run(ended.Token())
}

// What a Go programmer would use.
func BenchmarkContextWithTimeoutStopped(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		cancel()
		<-ctx.Done()
	}
}

// From one thread to the loop's and back.
func BenchmarkLoopThereAndBack(b *testing.B) {
	d := drive(new(sched.TimedRunLoop))
	benchmarkThereAndBack(b, d.loop)
	d.finish()
}

func BenchmarkThreadPoolThereAndBack(b *testing.B) {
	p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 1})
	benchmarkThereAndBack(b, p)
	p.Close()
}

func BenchmarkThreadDispatcherThereAndBack(b *testing.B) {
	d := sched.NewThreadDispatcher(1)
	benchmarkThereAndBack(b, d)
	d.Close()
}

func benchmarkThereAndBack(b *testing.B, s sender.Scheduler) {
	var op sender.ScheduleOp
	r := newSignal()
	sender.Schedule(s).Connect(&op, r)
	b.ReportAllocs()
	for b.Loop() {
		op.Start()
		<-r.done
	}
}

// Work that is enqueued faster than it is run.
func BenchmarkThreadPoolEnqueue(b *testing.B) {
	p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 1})
	defer p.Close()
	var all sync.WaitGroup
	jobs := make([]job, 1024)
	for i := range jobs {
		jobs[i].then = func(bool) { all.Done() }
		jobs[i].work.Runner = &jobs[i]
	}
	b.ReportAllocs()
	for n := 0; n < b.N; n += len(jobs) {
		all.Add(len(jobs))
		for i := range jobs {
			p.Enqueue(&jobs[i].work)
		}
		all.Wait()
	}
}

func BenchmarkExecuteInline(b *testing.B) {
	f := func() {}
	for b.Loop() {
		sender.Execute(sched.Inline{}, f)
	}
}
