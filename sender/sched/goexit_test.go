package sched_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/goroutine"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/stop"
)

func exit(unit) int {
	runtime.Goexit()
	return 1
}

// outlives checks that functions that call Goexit on sch cost neither their operations nor sch: each of many from
// several threads completes, and so does what comes between them and after them.
func outlives(t *testing.T, sch sender.Scheduler) {
	t.Helper()
	const threads, each = 3, 200
	var all sync.WaitGroup
	for range threads {
		all.Go(func() {
			for range each {
				exits := sender.AsFuture(sender.Then(sender.Schedule(sch), exit))
				returns := sender.AsFuture(sender.Schedule(sch))
				if _, err := exits.Get(t.Context()); err != sender.ErrGoexit {
					t.Errorf("Then: %v", err)
				}
				if _, err := returns.Get(t.Context()); err != nil {
					t.Errorf("Schedule: %v", err)
				}
			}
		})
	}
	all.Wait()
}

func TestPoolsOutliveGoexit(t *testing.T) {
	eachPool(t, func(t *testing.T, start func() pool) {
		p := start()
		outlives(t, p)
		p.Close()
	})
	t.Run("thread", func(t *testing.T) { outlives(t, sched.NewThread{}) })
	t.Run("goroutines", func(t *testing.T) { outlives(t, sched.Goroutines{}) })
}

// A loop of one thread stays on that thread, with its timers, stop requests and order; Run ends its goroutine.
func TestTimedLoopsOutliveGoexit(t *testing.T) {
	withLoop(t, func(t *testing.T, l *sched.TimedRunLoop) {
		d := &driver{loop: l, ended: make(chan bool)}
		started := make(chan bool)
		returned := false
		go func() {
			runtime.LockOSThread()
			defer close(d.ended)
			d.tid = goroutine.Thread()
			close(started)
			l.Run(d.stop.Token())
			returned = true
		}()
		<-started
		outlives(t, l)
		for range 10 {
			var source stop.Source
			env := sender.StopEnv{Token: source.Token()}
			due := sender.AsFuture(sender.Then(sender.ScheduleAfter(l, 1), exit))
			asked := sender.AsFuture(sender.WriteEnv(sender.UponStopped(
				sender.Then(sender.ScheduleAfter(l, 1<<60), exit), func() int { return exit(unit{}) }), env))
			source.RequestStop()
			for _, f := range []*sender.Future[int]{due, asked} {
				if _, err := f.Get(t.Context()); err != sender.ErrGoexit {
					t.Errorf("a timer: %v", err)
				}
			}
		}
		d.do(func() {
			if !d.here() {
				t.Error("the loop is on another thread")
			}
		})
		left := sender.AsFuture(sender.UponStopped(
			sender.Then(sender.ScheduleAfter(l, 1<<60), exit), func() int { return exit(unit{}) }))
		d.finish()
		if _, err := left.Get(t.Context()); err != sender.ErrGoexit {
			t.Errorf("a timer that was stopped by the end: %v", err)
		}
		if returned {
			t.Error("Run returned after a Goexit")
		}
	})
}
