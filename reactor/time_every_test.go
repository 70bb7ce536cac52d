//go:build linux

package reactor_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// ticker is Every with its receiver, which stops it after a number of ticks.
type ticker struct {
	reactor.EveryOp
	source stop.Source
	end    result
	ticks  []reactor.Tick // the loop's
	late   []int64        // how late they were
	out    *seqSink[reactor.Tick]
}

// tick starts a ticker, on the loop's thread; each is called with the number of each tick.
func (r *running) tick(s reactor.EverySender, each func(k *ticker, n int)) *ticker {
	k := &ticker{end: newResult()}
	k.out = seqSinkOf(r.t, k.end, &k.source, func(tick reactor.Tick) {
		k.ticks = append(k.ticks, tick)
		k.late = append(k.late, r.Now()-tick.At)
		each(k, len(k.ticks))
	})
	s.Connect(&k.EveryOp, k.out)
	k.Start()
	return k
}

// stopAfter stops a ticker at its n-th tick.
func stopAfter(n int) func(*ticker, int) {
	return func(k *ticker, i int) {
		if i == n {
			k.source.RequestStop()
		}
	}
}

func (k *ticker) expect(t *testing.T, want string) {
	t.Helper()
	k.end.expect(t, "stopped")
	got := ""
	for _, tick := range k.ticks {
		got += fmt.Sprintf("%d+%d ", tick.At, tick.Missed)
	}
	if got != want {
		t.Errorf("ticks %q, want %q", got, want)
	}
}

// Ticks are on their schedule to the nanosecond, in time, and a stop ends them immediately.
func TestEveryDoesNotDrift(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, _ := runVirtual(t, kind)
		var k, from *ticker
		var start int64
		r.do(func() {
			start = r.Clock()
			k = r.tick(r.Every(100, reactor.Unlimited), stopAfter(4))
		})
		k.expect(t, fmt.Sprintf("%d+0 %d+0 %d+0 %d+0 ", start+100, start+200, start+300, start+400))
		for i, late := range k.late {
			if late != 0 {
				t.Errorf("tick %d is %d ns late", i, late)
			}
		}
		var at int64
		r.do(func() {
			at = r.Clock() + 1000
			from = r.tick(r.Every(7, reactor.Unlimited).From(at), stopAfter(2))
		})
		from.expect(t, fmt.Sprintf("%d+0 %d+0 ", at, at+7))
		r.end()
	})
}

// A loop that was busy delivers one tick for all that were due, and the schedule stays.
func TestEveryCoalescesMissedTicks(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, v := runVirtual(t, kind)
		var k *ticker
		var at int64
		r.do(func() {
			at = r.Clock() + 100
			k = r.tick(r.Every(100, reactor.Unlimited).From(at), func(k *ticker, n int) {
				if n == 1 {
					v.time.Add(350)
				}
				stopAfter(3)(k, n)
			})
		})
		k.expect(t, fmt.Sprintf("%d+0 %d+2 %d+0 ", at, at+300, at+400))
		if k.late[1] != 50 {
			t.Errorf("the tick is %d ns late, want 50", k.late[1])
		}
		r.end()
	})
}

// Without credit no timer keeps the loop awake, and the tick that comes with it counts what was missed.
func TestEveryWaitsForCredit(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, v := runVirtual(t, kind)
		var k *ticker
		var at int64
		second := make(chan struct{})
		r.do(func() {
			at = r.Clock() + 10
			k = r.tick(r.Every(10, 2).From(at), func(k *ticker, n int) {
				if n == 2 {
					close(second)
				}
				stopAfter(3)(k, n)
			})
		})
		select {
		case <-second:
		case <-time.After(patience):
			t.Fatal("two ticks do not come")
		}
		before := v.time.Load()
		r.settle()
		if now := v.time.Load(); now != before {
			t.Errorf("a timer was waited for without credit, for %d ns", now-before)
		}
		r.do(func() {
			if len(k.ticks) != 2 {
				t.Errorf("%d ticks for a credit of 2", len(k.ticks))
			}
			v.time.Store(at + 57)
			k.Grant(1)
			if len(k.ticks) != 2 {
				t.Error("a tick inside of Grant")
			}
		})
		k.expect(t, fmt.Sprintf("%d+0 %d+0 %d+3 ", at, at+10, at+50))
		r.end()
	})
}

func TestEveryIsResetInPlace(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, _ := runVirtual(t, kind)
		var k *ticker
		var at int64
		r.do(func() {
			at = r.Clock() + 100
			k = r.tick(r.Every(100, reactor.Unlimited).From(at), func(k *ticker, n int) {
				if n == 2 {
					k.Reset(at+105, 1000)
				}
				stopAfter(4)(k, n)
			})
			k.Reset(at+50, 50)
		})
		k.expect(t, fmt.Sprintf("%d+0 %d+0 %d+0 %d+0 ", at+50, at+100, at+105, at+1105))
		r.end()
	})
}

// Schedules at both ends of time, and the shortest of periods.
func TestEveryAtTheExtremes(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, v := runVirtual(t, kind)
		var k *ticker
		r.do(func() { k = r.tick(r.Every(math.MaxInt64, reactor.Unlimited).From(math.MinInt64), stopAfter(1)) })
		k.expect(t, "-1+1 ")
		r.do(func() {
			v.time.Store(1000)
			k = r.tick(r.Every(-time.Second, reactor.Unlimited).From(1), stopAfter(1))
		})
		k.expect(t, "1000+999 ")
		r.end()
	})
}

// A sequence that was stopped before, or whose loop drains, ends stopped, without a tick.
func TestEveryEnds(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		k := &ticker{end: newResult()}
		k.out = seqSinkOf(t, k.end, &k.source, func(reactor.Tick) { t.Error("a tick") })
		r.do(func() {
			r.Every(time.Hour, 1).Connect(&k.EveryOp, k.out)
			k.source.RequestStop()
			k.Start()
			k.end.none(t)
		})
		k.end.expect(t, "stopped")
		r.do(func() {
			k.source.Reset()
			k.Start()
		})
		r.Stop()
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		k.end.expect(t, "stopped")
	})
}

// A sleep is moved both ways while it is in flight, but not when it has completed.
func TestSleepIsResetInPlace(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, v := runVirtual(t, kind)
		for _, to := range []int64{500, 20} {
			var op reactor.SleepOp
			var source stop.Source
			var at int64
			done := newResult()
			r.do(func() {
				r.SleepFor(100).Connect(&op, sinkOf[struct{}](t, done, &source))
				op.Start()
				if at = r.Clock() + to; !op.Reset(at) {
					t.Error("a sleep in flight cannot be moved")
				}
			})
			done.expect(t, "{}")
			r.do(func() {
				if now := v.time.Load(); now != at {
					t.Errorf("over at %d, want %d", now, at)
				}
				if op.Reset(0) {
					t.Error("a sleep that has completed was moved")
				}
			})
		}
		r.end()
	})
}

func init() {
	steady["tick"] = func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		op, source := new(reactor.EveryOp), new(stop.Source)
		out := seqSinkOf(r.t, nil, source, func(reactor.Tick) { source.RequestStop() })
		out.stopped = func() {
			source.Reset()
			next()
		}
		r.Every(1, 1).Connect(op, out)
		return op.Start, nil, nil
	}
	steady["reset a sleep"] = func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		op := new(reactor.SleepOp)
		r.SleepFor(time.Hour).Connect(op, &again[struct{}]{func(struct{}) { next() }, sender.EmptyEnv{}})
		return func() {
			op.Start()
			op.Reset(r.Now())
		}, nil, nil
	}
}
