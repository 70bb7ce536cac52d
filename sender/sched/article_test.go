package sched_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/goroutine"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/stop"
)

// The examples of the article on sender factories.

// just42 completes inside Start with 42: a sender written by hand.
type just42 struct{}

type just42Op struct{ receiver sender.Receiver[int] }

func (just42) Connect(op *just42Op, r sender.Receiver[int]) sender.Operation {
	op.receiver = r
	return op
}
func (op *just42Op) Start() { op.receiver.SetValue(42) }

// justInt is a receiver that writes the value to a variable.
type justInt struct {
	sender.EmptyEnv
	value *int
}

func (r justInt) SetValue(v int)  { *r.value = v }
func (r justInt) SetError(error)  {}
func (r justInt) SetStopped()     {}
func (r justInt) Env() sender.Env { return r }

func TestJust42(t *testing.T) {
	if v, err := sender.SyncWait(t.Context(), just42{}); v != 42 || err != nil {
		t.Errorf("SyncWait: %d, %v", v, err)
	}
	var value int
	var op just42Op
	just42{}.Connect(&op, justInt{value: &value}).Start()
	if value != 42 {
		t.Errorf("the receiver has %d", value)
	}
}

// line is what the article prints: a prefix, a thread, and the time since the beginning.
type line struct {
	prefix string
	thread int
	after  time.Duration
}

// printer collects lines.
type printer struct {
	mu    sync.Mutex
	t0    time.Time
	lines []line
}

func (p *printer) printTID(prefix string) func(unit) unit {
	return func(unit) unit {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lines = append(p.lines, line{prefix, goroutine.Thread(), time.Since(p.t0)})
		return unit{}
	}
}

// drives is the operation state of then(get_stop_token(), run).
type drives = sender.ThenOp[stop.Token, unit, sender.ReadEnvOp[stop.Token]]

// inMain waits for asyncMain while the calling thread drives the loop, and returns that thread's id.
func inMain[O any, S sender.Sender[unit, O]](t *testing.T, l *sched.TimedRunLoop, asyncMain S) int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	drive := sender.Then(sender.ReadEnv(sender.Env.StopToken), func(token stop.Token) unit {
		l.Run(token)
		return unit{}
	})
	if _, err := sender.SyncWait(t.Context(), sender.WhenAny[unit, O, drives](asyncMain, drive)); err != nil {
		t.Error(err)
	}
	return goroutine.Thread()
}

func TestAsyncMain(t *testing.T) {
	withLoopInBubble(t, func(t *testing.T, l *sched.TimedRunLoop) {
		p := &printer{t0: time.Now()}
		after500ms := sender.Then(sender.ScheduleAfter(l, 500*time.Millisecond), p.printTID("A"))
		after1s := sender.Then(sender.ScheduleAfter(l, time.Second), p.printTID("B"))
		tid := inMain(t, l, sender.Then(sender.WhenAny(after500ms, after1s), p.printTID("C")))
		want := []line{{"A", tid, 500 * time.Millisecond}, {"C", tid, 500 * time.Millisecond}}
		if !slices.Equal(p.lines, want) {
			t.Errorf("printed %v, want %v", p.lines, want)
		}
	})
}

// With a second scheduler, whose threads and the loop's stop each other.
func TestAsyncMainOnTwoSchedulers(t *testing.T) {
	withLoopInBubble(t, func(t *testing.T, l *sched.TimedRunLoop) {
		p := &printer{t0: time.Now()}
		after500ms := sender.Then(sender.ScheduleAfter(l, 500*time.Millisecond), p.printTID("A"))
		after1s := sender.Then(sender.ScheduleAfter(l, time.Second), p.printTID("B"))
		jthread := sender.Then(sender.ScheduleAfter(sched.NewThread{}, 100*time.Millisecond), p.printTID("C"))
		tid := inMain(t, l, sender.Then(sender.WhenAny(sender.WhenAny(after500ms, after1s), jthread), p.printTID("D")))
		if len(p.lines) != 2 {
			t.Fatalf("printed %v", p.lines)
		}
		c, d := p.lines[0], p.lines[1]
		if c.prefix != "C" || c.thread == tid || c.after != 100*time.Millisecond {
			t.Errorf("first printed %v; the main thread is %d", c, tid)
		}
		if want := (line{"D", tid, 100 * time.Millisecond}); d != want {
			t.Errorf("then printed %v, want %v", d, want)
		}
	})
}

// A thread that sleeps is woken by a stop request, and completes by itself.
func TestNewThreadWakesForAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var source stop.Source
		start := time.Now()
		j := newJob(nil)
		sched.NewThread{}.EnqueueAt(&j.timed, sched.NewThread{}.Clock()+int64(time.Hour), source.Token())
		synctest.Wait()
		source.RequestStop()
		synctest.Wait()
		j.want(t, 0, 1)
		if took := time.Since(start); took != 0 {
			t.Errorf("took %v", took)
		}
	})
}
