package sender_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// decides tells whether l ends a race by itself.
func decides(l *leaf) bool { return !endless(l) && l.Result.Channel != sendertest.OnStopped }

// whenAny returns what a race of these leaves may do.
func whenAny(ls ...*leaf) sendertest.Options[int] {
	hangs, decided := false, false
	for _, l := range ls {
		hangs = hangs || endless(l)
		decided = decided || decides(l)
	}
	return sendertest.Options[int]{
		Accept: func(p sendertest.Point, x result) bool {
			if isStopped(p) {
				return in(x, itStopped)
			}
			for _, l := range ls {
				if decides(l) && in(x, l.Result) {
					return true
				}
			}
			return (mayStop(p) || !decided) && in(x, itStopped)
		},
		Endless:     hangs && !decided,
		Restartable: true,
		Rounds:      1,
	}
}

func TestWhenAny(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		sendertest.Check(t, sender.WhenAny(a, b), whenAny(a, b))
	})
}

func TestWhenAnyOfThree(t *testing.T) {
	th := sendertest.NewThread(t)
	eachPair(t, func(t *testing.T, a, b *leaf) {
		c := &leaf{OnStart: sendertest.Later, OnStop: sendertest.Inline, Thread: th, Result: sendertest.Value(9)}
		sendertest.Check(t, sender.WhenAnySlice([]*leaf{a, b, c}), whenAny(a, b, c))
	})
}

func TestWhenAnySlice(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *leaf) {
		sendertest.Check(t, sender.WhenAnySlice([]*leaf{a, b}), whenAny(a, b))
	})
}

func TestWhenAnySliceOfNone(t *testing.T) {
	sendertest.Check(t, sender.WhenAnySlice([]*leaf(nil)), accept(itStopped))
}

// The first result wins, and the operation waits for the others.
func TestWhenAnyJoins(t *testing.T) {
	a := &leaf{Result: sendertest.Value(1)}
	b := &leaf{Result: sendertest.Value(2)}
	c := &leaf{OnStop: sendertest.Inline}
	for _, first := range []*leaf{a, b} {
		second := a
		if first == a {
			second = b
		}
		rec := new(sendertest.Recorder[int])
		run(t, sender.WhenAnySlice([]*leaf{a, b, c}), rec)
		first.Finish()
		if c.InFlight() != 0 {
			t.Error("the loser was not requested to stop")
		}
		if rec.Completed() {
			t.Error("completed with a child in flight")
		}
		second.Finish()
		if x := rec.Result(); !in(x, first.Result) {
			t.Errorf("completed with %v, want %v", x, first.Result)
		}
	}
}

func TestWhenAnyStoppedBeforeStartsNothing(t *testing.T) {
	a, b := &leaf{OnStart: sendertest.Inline, Result: theValue}, &leaf{OnStart: sendertest.Inline, Result: theValue}
	var s stop.Source
	s.RequestStop()
	rec := &sendertest.Recorder[int]{Stop: &s}
	run(t, sender.WhenAny(a, b), rec)
	if x := rec.Result(); !in(x, itStopped) || a.Starts()+b.Starts() != 0 {
		t.Errorf("%v and %d starts, want stopped and none", x, a.Starts()+b.Starts())
	}
}

// A parent's stop that makes the last child complete inside of it completes the operation only after the children's
// stop request has returned: the receiver may start the operation again in there.
func TestWhenAnyRestartInsideStop(t *testing.T) {
	a, b := &leaf{OnStop: sendertest.Inline}, &leaf{OnStop: sendertest.Inline}
	s := sender.WhenAny(a, b)
	op := sender.StateOf(s)
	var first, second stop.Source
	again := &sendertest.Recorder[int]{T: t, Stop: &second}
	rec := &sendertest.Recorder[int]{T: t, Stop: &first, Then: func(result) {
		*op = *sender.StateOf(s)
		start := s.Connect(op, again)
		again.Starting()
		start.Start()
	}}
	start := s.Connect(op, rec)
	rec.Starting()
	start.Start()
	first.RequestStop()
	if !in(rec.Result(), itStopped) || again.Completed() || a.InFlight() != 1 || b.InFlight() != 1 {
		t.Fatalf("first %v, second %v, %d and %d in flight", rec.Result(), again.Result(), a.InFlight(), b.InFlight())
	}
	second.RequestStop()
	if !in(again.Result(), itStopped) || a.InFlight()+b.InFlight() != 0 {
		t.Errorf("second %v, %d and %d in flight", again.Result(), a.InFlight(), b.InFlight())
	}
}

// Nothing of a run is left for the next one, if the operation is started again.
func TestGroupsForget(t *testing.T) {
	var source stop.Source
	a, b := &leaf{OnStop: sendertest.Inline, Result: theValue}, &leaf{OnStop: sendertest.Inline, Result: theValue}
	rec := &sendertest.Recorder[int]{T: t, Stop: &source}

	race := sender.WhenAny(a, b)
	op := sender.StateOf(race)
	race.Connect(op, rec)
	twice(t, rec, &source, op.Start, func() { a.Finish() }, theValue)

	timeout := sender.Timeout(a, timer(b))
	timed := sender.StateOf(timeout)
	timeout.Connect(timed, rec)
	twice(t, rec, &source, timed.Start, func() { b.Finish() }, itExpired)
}

// twice starts an operation that is to complete with x when it is helped along, and then once more to
// be stopped.
func twice(t *testing.T, rec *sendertest.Recorder[int], source *stop.Source, start, help func(), x result) {
	t.Helper()
	for _, run := range []struct {
		help func()
		want result
	}{{help, x}, {func() { source.RequestStop() }, itStopped}} {
		rec.Starting()
		start()
		run.help()
		if got := rec.Result(); !in(got, run.want) {
			t.Errorf("completed with %v, want %v", got, run.want)
		}
	}
	source.Reset()
}

// A stop request that comes while the operation is being started may make it complete there, but
// not before the request is done with it.
func TestGroupStoppedWhileStarting(t *testing.T) {
	s := sender.WhenAny(sender.JustStopped[int](), sender.JustStopped[int]())
	op := sender.StateOf(s)
	var gate atomic.Int32 // even: wait; odd: request stop
	var source stop.Source
	rounds := int32(20000)
	if testing.Short() {
		rounds /= 10
	}
	go func() {
		for n := int32(1); n <= 2*rounds; n += 2 {
			wait(&gate, n)
			source.RequestStop()
			gate.Store(n + 1)
		}
	}()
	for n := int32(1); n <= 2*rounds; n += 2 {
		rec := &sendertest.Recorder[int]{T: t, Stop: &source, Then: func(result) { *op = *sender.StateOf(s) }}
		s.Connect(op, rec)
		rec.Starting()
		gate.Store(n)
		for range n % 256 { // meet in a different place each time
			gate.Load()
		}
		op.Start()
		if !rec.Completed() {
			t.Fatal("not completed")
		}
		wait(&gate, n+1)
		source.Reset()
	}
}

// wait waits for gate to be n, without letting go of the thread at first.
func wait(gate *atomic.Int32, n int32) {
	for i := 0; gate.Load() != n; i++ {
		if i > 1000 {
			runtime.Gosched()
		}
	}
}

// Children that live on one thread complete their parent there, whichever thread asks them to stop.
func TestGroupsKeepTheThread(t *testing.T) {
	th := sendertest.NewThread(t)
	onThread := func() *leaf {
		return &leaf{OnStart: sendertest.Later, OnStop: sendertest.Later, Thread: th, Result: theValue}
	}
	idle := func() *leaf { return &leaf{OnStop: sendertest.Later, Thread: th} }
	o := sendertest.Options[int]{Where: th.Here, Do: th.Do, Restartable: true, Rounds: 200}
	toUnit := func(int) struct{} { return struct{}{} }

	sendertest.Check(t, sender.WhenAny(onThread(), onThread()), o)
	sendertest.Check(t, sender.WhenAnySlice([]*leaf{onThread(), idle(), onThread()}), o)
	sendertest.Check(t, sender.WhenAll(onThread(), onThread()), sendertest.Options[sender.All2[int, int]]{
		Where: th.Here, Do: th.Do, Restartable: true, Rounds: 200,
	})
	sendertest.Check(t, sender.StopWhen(onThread(), idle()), o)
	sendertest.Check(t, sender.StopWhen(idle(), onThread()), o)
	sendertest.Check(t, sender.Timeout(onThread(), sender.Then(idle(), toUnit)), o)
	sendertest.Check(t, sender.Timeout(idle(), sender.Then(onThread(), toUnit)), o)
	o.Endless = true
	sendertest.Check(t, sender.WhenAny(idle(), idle()), o)
	sendertest.Check(t, sender.WhenAny(sender.WhenAny(idle(), idle()), sender.StopWhen(idle(), idle())), o)
	sendertest.Check(t, sender.Repeat(onThread()), o)
}

func TestWhenAnyOfMany(t *testing.T) {
	th := sendertest.NewThread(t)
	eachPair(t, func(t *testing.T, a, b *leaf) {
		c := &leaf{OnStart: sendertest.Later, OnStop: sendertest.Inline, Thread: th, Result: sendertest.Value(9)}
		d := &leaf{OnStop: sendertest.Later, Thread: th}
		sendertest.Check(t, sender.WhenAny(sender.WhenAny(d, a), sender.WhenAny(c, b)), whenAny(a, b, c, d))
		sendertest.Check(t, sender.WhenAnySlice([]*leaf{a, d, c, d, b}), whenAny(a, b, c, d))
	})
}
