//go:build linux

package reactor_test

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// BenchmarkTimersMillion has a million timers pending on one loop, of which 200 000 a second expire, each on its own
// schedule, and are set again. It reports how late they are called, by the clock and not by the loop's idea of the
// time, and what of a core the loop's thread uses. Each round lasts some seconds; run it with -benchtime 1x.
func BenchmarkTimersMillion(b *testing.B) {
	eachRingB(b, func(b *testing.B, kind reactor.RingKind) {
		b.Run("timer", func(b *testing.B) { million(b, kind, lightTimers) })
		b.Run("sleep", func(b *testing.B) { million(b, kind, sleeps) })
	})
}

const (
	pendingTimers = 1_000_000
	expiries      = 200_000 // a second
	rearm         = int64(time.Second) * pendingTimers / expiries
)

// lateness is how late timers were called, in nanoseconds.
type lateness struct {
	r    *running
	late []int64
}

func (l *lateness) called(due int64) {
	if len(l.late) < cap(l.late) {
		l.late = append(l.late, l.r.Clock()-due)
	}
}

// lightTimers sets the timers in their light form.
func lightTimers(l *lateness, start int64) (stop func()) {
	timers := make([]millionth, pendingTimers)
	for i := range timers {
		t := &timers[i]
		t.l = l
		t.Init(t)
		l.r.SetTimer(&t.Timer, start+rearm*int64(i)/pendingTimers)
	}
	return func() {
		for i := range timers {
			l.r.StopTimer(&timers[i].Timer)
		}
	}
}

type millionth struct {
	reactor.Timer
	l *lateness
}

func (t *millionth) OnTimer(int64) {
	t.l.called(t.Deadline())
	t.l.r.SetTimer(&t.Timer, t.Deadline()+rearm)
}

// sleeps starts them as operations.
func sleeps(l *lateness, start int64) (stop func()) {
	ops := make([]sleeper, pendingTimers)
	for i := range ops {
		o := &ops[i]
		o.l, o.due = l, start+rearm*int64(i)/pendingTimers
		o.Start()
	}
	return func() {
		for i := range ops {
			ops[i].last = true
			ops[i].Reset(0)
		}
	}
}

// sleeper is a sleep that starts itself again.
type sleeper struct {
	reactor.SleepOp
	sender.EmptyEnv
	l    *lateness
	due  int64
	last bool
}

func (o *sleeper) Start() {
	o.l.r.SleepUntil(o.due).Connect(&o.SleepOp, o)
	o.SleepOp.Start()
}

func (o *sleeper) SetValue(struct{}) {
	if o.last {
		return
	}
	o.l.called(o.due)
	o.due += rearm
	o.Start()
}

func (o *sleeper) SetError(err error) { panic(err) }
func (o *sleeper) SetStopped()        {}
func (o *sleeper) Env() sender.Env    { return o }

func million(b *testing.B, kind reactor.RingKind, set func(l *lateness, start int64) (stop func())) {
	const round = 5 * time.Second
	r := run(b, reactor.LoopConfig{Ring: kind})
	l := &lateness{r: r, late: make([]int64, 0, b.N*2*expiries*int(round/time.Second))}
	var stop func()
	r.do(func() { stop = set(l, r.Clock()+int64(time.Second)) })
	time.Sleep(2 * time.Second) // until it is steady
	var began, ended unix.Rusage
	var from time.Time
	r.do(func() {
		l.late = l.late[:0]
		from = time.Now()
		_ = unix.Getrusage(unix.RUSAGE_THREAD, &began)
	})
	b.ResetTimer()
	time.Sleep(time.Duration(b.N) * round)
	b.StopTimer()
	var took time.Duration
	r.do(func() {
		_ = unix.Getrusage(unix.RUSAGE_THREAD, &ended)
		took = time.Since(from)
		l.late = slices.Clip(l.late) // full: what comes later is not taken
		stop()
	})
	for r.Stats().InFlight != 0 {
		r.settle()
	}
	r.end()
	slices.Sort(l.late)
	at := func(q float64) float64 { return float64(l.late[int(q*float64(len(l.late)-1))]) / 1e3 }
	cpu := time.Duration(ended.Utime.Nano() + ended.Stime.Nano() - began.Utime.Nano() - began.Stime.Nano())
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(len(l.late))/took.Seconds(), "expiries/s")
	b.ReportMetric(100*cpu.Seconds()/took.Seconds(), "%core")
	b.ReportMetric(at(0.5), "p50-µs")
	b.ReportMetric(at(0.99), "p99-µs")
	b.ReportMetric(at(1), "max-µs")
}
