//go:build linux

package reactor_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// acceptTimed is what a timed sender may complete with, when stop is requested at p.
func acceptTimed(p sendertest.Point, x sendertest.Result[struct{}]) bool {
	switch p {
	case sendertest.BeforeConnect, sendertest.BeforeStart:
		return x.Channel == sendertest.OnStopped
	case sendertest.Never, sendertest.InCompletion:
		return x.Channel == sendertest.OnValue
	default:
		return x.Channel != sendertest.OnError
	}
}

// A loop as a timed scheduler: started and stopped on its own thread, and on others.
func TestLoopIsATimedScheduler(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		var tid int
		r.do(func() { tid = unix.Gettid() })
		here := func() bool { return unix.Gettid() == tid }
		onLoop := func(f func()) { sender.Execute(r.Loop, f) }
		for _, d := range []time.Duration{-time.Second, 0, 20 * time.Microsecond} {
			sendertest.Check(t, sender.ScheduleAfter(r.Loop, d), sendertest.Options[struct{}]{
				Accept: acceptTimed, Restartable: true, Do: onLoop, Where: here, Rounds: 20,
			})
			there := sender.Then(sender.ScheduleAfter(r.Loop, d), func(v struct{}) struct{} {
				if !here() {
					t.Error("a value on a wrong thread")
				}
				return v
			})
			sendertest.Check(t, there, sendertest.Options[struct{}]{Accept: acceptTimed, Restartable: true, Rounds: 20})
		}
		sendertest.Check(t, sender.ScheduleAfter(r.Loop, time.Hour), sendertest.Options[struct{}]{
			Accept: func(_ sendertest.Point, x sendertest.Result[struct{}]) bool {
				return x.Channel == sendertest.OnStopped
			},
			Restartable: true, Endless: true, Rounds: 20,
		})
		r.end()
	})
}

// timedJob is timed work that counts how often it was run and abandoned.
type timedJob struct {
	sender.TimedWork
	mu             sync.Mutex
	ran, abandoned int
	then           func()
}

func newTimedJob(then func()) *timedJob {
	j := &timedJob{then: then}
	j.Runner = j
	return j
}

func (j *timedJob) Run() {
	j.mu.Lock()
	j.ran++
	j.mu.Unlock()
	j.then()
}

func (j *timedJob) Abandon(error) {
	j.mu.Lock()
	j.abandoned++
	j.mu.Unlock()
	j.then()
}

func TestTimedWorkOnALoopIsInOrder(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		done := make(chan int, 4)
		soon := r.Clock() + 2e8 // no timer is due before all are set, also on a busy machine
		for i, after := range []int64{3e6, 1e6, 2e6, 1e6} {
			r.EnqueueAt(&newTimedJob(func() { done <- i }).TimedWork, soon+after, stop.Token{})
		}
		if order := fmt.Sprint(<-done, <-done, <-done, <-done); order != "1 3 2 0" {
			t.Errorf("order %s", order)
		}
		r.end()
	})
}

// A timer that is pending when the loop drains is stopped. After that, timed work is refused.
func TestEndedIsNotStopped(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		waiting := sender.AsFuture(sender.ScheduleAfter(r, time.Hour))
		r.Stop()
		if err := r.wait(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if _, err := waiting.Get(t.Context()); err != sender.ErrStopped {
			t.Errorf("what was waiting: %v", err)
		}
		for name, s := range map[string]sender.Any[struct{}]{
			"Schedule":      sender.Erase(sender.Schedule(r)),
			"ScheduleAfter": sender.Erase(sender.ScheduleAfter(r, time.Hour)),
			"task": sender.Erase(sender.WriteEnv(task.New(func(*task.T) error { return nil }),
				sender.SchedulerEnv{Sch: r})),
		} {
			if _, err := sender.SyncWait(t.Context(), s); err != sender.ErrClosed {
				t.Errorf("%s, late: %v", name, err)
			}
		}
	})
}

// A drain abandons timed work that is armed, that is being stopped, and that is enqueued later, each once.
func TestDrainAbandonsTimedWork(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for range 20 {
			r := run(t, reactor.LoopConfig{Ring: kind})
			const threads, each = 2, 20
			jobs := make([]*timedJob, threads*each)
			var all, started sync.WaitGroup
			all.Add(len(jobs))
			for i := range threads {
				started.Go(func() {
					for n := range each {
						j := newTimedJob(all.Done)
						jobs[i*each+n] = j
						source := new(stop.Source)
						r.EnqueueAt(&j.TimedWork, r.Clock()+int64(time.Hour), source.Token())
						if n == each/2 {
							r.Stop()
						}
						if n%2 == 0 {
							source.RequestStop()
						}
					}
				})
			}
			started.Wait()
			if err := r.wait(); err != nil {
				t.Error(err)
			}
			all.Wait()
			late := newTimedJob(func() {})
			r.EnqueueAt(&late.TimedWork, r.Clock(), stop.Token{})
			for _, j := range append(jobs, late) {
				if j.ran != 0 || j.abandoned != 1 {
					t.Fatalf("ran %d times and was abandoned %d times", j.ran, j.abandoned)
				}
			}
			if st := r.Stats(); st.InFlight != 0 || st.Leaked != 0 {
				t.Errorf("%+v", st)
			}
		}
	})
}

// sender.Timeout uses the timers of the loop, around an operation of the loop.
func TestTimeoutOnALoopsTimers(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s := sender.Timeout(r.SleepFor(time.Hour), sender.ScheduleAfter(r.Loop, time.Millisecond))
		done := newResult()
		in := sinkOf[struct{}](t, done, nil)
		in.failed = func(err error) { done <- err.Error() }
		op := new(sender.TimeoutOp[struct{}, reactor.SleepOp, sender.ScheduleAtOp])
		r.do(func() {
			s.Connect(op, in).Start()
		})
		done.expect(t, "i/o timeout")
		r.end()
	})
}

func TestTimedWorkOnALoopDoesNotAllocate(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		done := make(chan struct{}, 1)
		j := newTimedJob(func() { done <- struct{}{} })
		var source stop.Source
		once := func() {
			r.EnqueueAt(&j.TimedWork, r.Clock()+int64(time.Hour), source.Token())
			source.RequestStop()
			<-done
			source.Reset()
			r.EnqueueAt(&j.TimedWork, r.Clock(), source.Token())
			<-done
		}
		once()
		if n := testing.AllocsPerRun(100, once); n != 0 {
			t.Errorf("%v allocations, want 0", n)
		}
		r.end()
	})
}

// Timed work whose deadline has passed is run in the next turn, not one turn later.
func TestEnqueueAtThePast(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		var timed sender.TimedWork
		done := newResult()
		timed.Runner = newWork(func() { done <- "timed" }, func() { done <- "abandoned" })
		r.do(func() {
			r.EnqueueAt(&timed, r.Now()-1, stop.Token{})
			r.Enqueue(&newWork(func() { done <- "next" }, nil).Work)
		})
		done.expect(t, "timed")
		done.expect(t, "next")
		r.end()
	})
}
