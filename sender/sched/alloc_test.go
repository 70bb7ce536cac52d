package sched_test

import (
	"testing"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// signal is a receiver that says when it is completed, and has a stop token.
type signal struct {
	sender.EmptyEnv
	source stop.Source
	done   chan unit
}

func newSignal() *signal { return &signal{done: make(chan unit, 1)} }

func (s *signal) SetValue(unit)         { s.done <- unit{} }
func (s *signal) SetError(error)        { s.done <- unit{} }
func (s *signal) SetStopped()           { s.done <- unit{} }
func (s *signal) Env() sender.Env       { return s }
func (s *signal) StopToken() stop.Token { return s.source.Token() }

// allocs returns how many allocations it takes to connect s, start it and, perhaps, stop it. rest is called after each
// completion.
func allocs[O any, S sender.Sender[unit, O]](s S, stopIt bool, rest ...func()) float64 {
	op, r := new(O), newSignal()
	once := func() {
		s.Connect(op, r).Start()
		if stopIt {
			r.source.RequestStop()
		}
		<-r.done
		r.source.Reset()
		for _, f := range rest {
			f()
		}
	}
	for range 1000 { // heaps and pools grow
		once()
	}
	return testing.AllocsPerRun(1000, once)
}

func TestNothingAllocates(t *testing.T) {
	if sendertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	check := func(what string, n float64) {
		t.Helper()
		if n != 0 {
			t.Errorf("%s: %v allocations, want 0", what, n)
		}
	}
	withLoop(t, func(t *testing.T, l *sched.TimedRunLoop) {
		d := drive(l)
		check("Schedule", allocs(sender.Schedule(l), false))
		check("ScheduleAfter", allocs(sender.ScheduleAfter(l, time.Microsecond), false))
		check("ScheduleAfter, stopped", allocs(sender.ScheduleAfter(l, time.Hour), true))
		d.finish()
	})
	p := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 2})
	dispatcher := sched.NewThreadDispatcher(2)
	d := drive(new(sched.TimedRunLoop))
	closed, ended := closedPool(), drive(new(sched.TimedRunLoop))
	ended.finish()
	check("Inline", allocs(sender.Schedule(sched.Inline{}), false))
	check("ThreadPool", allocs(sender.Schedule(p), false))
	check("ThreadDispatcher", allocs(sender.Schedule(dispatcher), false))
	check("ThreadDispatcher.Schedule", allocs(sender.Then(dispatcher.Schedule(), func(int) unit { return unit{} }), false))
	check("Any", allocs(sender.Schedule(sched.AnyOf(p)), false))
	check("Fallback", allocs(sender.Schedule(sched.Fallback{First: closed, Second: p}), false))
	check("TimedFallback", allocs(sender.ScheduleAfter(sched.TimedFallback{First: ended.loop, Second: d.loop}, 1), false))
	// An entry is free when both resources have released it, so each gets the time for that.
	var op sender.ScheduleOp
	looked := newSignal()
	settle := func(s sender.Scheduler) func() {
		return func() {
			sender.Schedule(s).Connect(&op, looked).Start()
			<-looked.done
		}
	}
	deadline := sched.Deadline{On: p, Timer: d.loop, Within: time.Hour}
	check("Deadline, in time", allocs(deadline.Schedule(), false, settle(d.loop)))
	one := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 1})
	deadline.On = one
	check("Deadline, stopped", allocs(deadline.Schedule(), true, settle(one), settle(d.loop)))
	one.Close()
	p.Close()
	dispatcher.Close()
	d.finish()
}
