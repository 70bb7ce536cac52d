//go:build linux

package reactor_test

import (
	"math"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// The time that a turn took does not count twice: a timer that fell due meanwhile is not slept for.
func TestLongTurnDelaysNoTimer(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, h := hook(t, kind, reactor.LoopConfig{})
		var slept []time.Duration // the loop's
		h.enter = func(timeout time.Duration) error {
			slept = append(slept, timeout)
			return nil
		}
		r := runLoop(t, l)
		const d = 20 * time.Millisecond
		done := newResult()
		var op reactor.SleepOp
		r.do(func() {
			r.SleepFor(d).Connect(&op, sinkOf[struct{}](t, done, nil))
			op.Start()
			time.Sleep(2 * d)
			slept = slept[:0]
		})
		done.expect(t, "{}")
		r.do(func() {
			if slept[0] != 0 {
				t.Errorf("slept for %v although a timer was due", slept[0])
			}
		})
		r.end()
	})
}

// Times at both ends of what there is.
func TestExtremeSleeps(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		for _, tc := range []struct {
			sleep sender.Sender[struct{}, reactor.SleepOp]
			ends  bool
		}{
			{r.SleepFor(0), true},
			{r.SleepFor(-time.Hour), true},
			{r.SleepFor(math.MinInt64), true},
			{r.SleepFor(math.MaxInt64), false},
			{r.SleepUntil(math.MinInt64), true},
			{r.SleepUntil(0), true},
			{r.SleepUntil(math.MaxInt64), false},
		} {
			var op reactor.SleepOp
			var source stop.Source
			done := newResult()
			r.do(func() {
				tc.sleep.Connect(&op, sinkOf[struct{}](t, done, &source))
				op.Start()
			})
			if tc.ends {
				done.expect(t, "{}")
				continue
			}
			r.settle()
			done.none(t)
			r.do(func() { source.RequestStop() })
			done.expect(t, "stopped")
		}
		r.end()
	})
}

type onTimer func(now int64)

func (f onTimer) OnTimer(now int64) { f(now) }

// Timers of the light form run in order, can be moved and stopped, and are dropped with their loop.
func TestTimers(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		var timers [4]reactor.Timer
		order := make(chan int, 4)
		r.do(func() {
			start := r.Now()
			for i := range timers {
				timers[i].Init(onTimer(func(now int64) {
					if now < timers[i].Deadline() {
						t.Errorf("timer %d is early", i)
					}
					order <- i
				}))
				r.SetTimer(&timers[i], start+int64(i)*int64(time.Millisecond))
			}
			r.SetTimer(&timers[0], start+int64(5*time.Millisecond))
			if !r.StopTimer(&timers[2]) || r.StopTimer(&timers[2]) {
				t.Error("StopTimer")
			}
		})
		for _, want := range []int{1, 3, 0} {
			if got := <-order; got != want {
				t.Errorf("timer %d, want %d", got, want)
			}
		}
		r.do(func() { r.SetTimer(&timers[2], r.Now()+int64(time.Hour)) })
		r.Stop()
		if err := r.wait(); err != nil {
			t.Error(err)
		}
	})
}

// Timers that are due again as soon as they run starve no other work.
func TestEndlessTimersStarveNothing(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		var timer reactor.Timer
		r.do(func() {
			timer.Init(onTimer(func(now int64) { r.SetTimer(&timer, now) }))
			r.SetTimer(&timer, r.Now())
		})
		m := r.many(reactor.Unlimited)
		write(t, m.peer, []byte("x"))
		m.items.expect(t, "x")
		r.close(m.s)
		m.end.expect(t, "error: use of a closed descriptor")
		r.do(func() { r.StopTimer(&timer) })
		unix.Close(m.peer)
		r.end()
	})
}

// Now is read when the loop wakes up, not before it went to sleep.
func TestNowIsOfThisTurn(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, h := hook(t, kind, reactor.LoopConfig{})
		done := make(chan bool, 1)
		var posted int64
		w := newWork(func() { done <- l.Now() >= posted }, nil)
		h.enter = func(timeout time.Duration) error {
			if posted == 0 && timeout != 0 {
				time.Sleep(time.Millisecond)
				posted = l.Clock()
				l.Enqueue(&w.Work)
			}
			return nil
		}
		r := runLoop(t, l)
		if !<-done {
			t.Error("what is run after a sleep is told the time before it")
		}
		r.end()
	})
}
