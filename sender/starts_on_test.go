package sender_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// shut is a scheduler that abandons all work: without a reason, it is shutting down.
type shut struct{ reason error }

func (s shut) Enqueue(w *sender.Work) { w.Runner.Abandon(s.reason) }

// Clock and EnqueueAt make it a timed one.
func (shut) Clock() int64 { return 0 }

func (s shut) EnqueueAt(w *sender.TimedWork, _ int64, _ stop.Token) { w.Runner.Abandon(s.reason) }

// Whatever is done on a scheduler hears why it was refused.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		reason error
		want   result
	}{
		{nil, itStopped},
		{sender.ErrStopped, itStopped},
		{fmt.Errorf("ending: %w", sender.ErrStopped), itStopped},
		{sender.ErrFull, sendertest.Error[int](sender.ErrFull)},
		{errLeaf, theError},
	} {
		sch := shut{c.reason}
		one := func(unit) int { return 1 }
		for name, s := range map[string]sender.Any[int]{
			"Schedule":    sender.Erase(sender.Then(sender.Schedule(sch), one)),
			"ScheduleAt":  sender.Erase(sender.Then(sender.ScheduleAt(sch, 1), one)),
			"StartsOn":    sender.Erase(sender.StartsOn(sch, sender.Just(1))),
			"ContinuesOn": sender.Erase(sender.ContinuesOn(sender.Just(1), sch)),
			"AffineOn":    sender.Erase(sender.AffineOn(&leaf{OnStart: sendertest.Inline, Result: theValue}, sch)),
		} {
			rec := new(sendertest.Recorder[int])
			run(t, s, rec)
			if !in(rec.Result(), c.want) {
				t.Errorf("%s, refused for %v: completed with %v, want %v", name, c.reason, rec.Result(), c.want)
			}
		}
		var scope sender.CountingScope
		l := &leaf{Result: theValue}
		sender.Spawn(&scope, l)
		rec := &sendertest.Recorder[unit]{Sch: sch}
		run(t, scope.Join(), rec)
		l.Finish()
		if x := rec.Result(); x.Channel != c.want.Channel || x.Err != c.want.Err {
			t.Errorf("Join, refused for %v: completed with %v, want %v", c.reason, x, c.want)
		}
	}
}

// Algorithms that handle errors handle a refusal.
func TestRefusalIsAnError(t *testing.T) {
	s := sender.StartsOn(shut{sender.ErrFull}, sender.Just(1))
	tries := 0
	again := func(n int, err error) bool { tries = n; return n < 5 && errors.Is(err, sender.ErrFull) }
	if _, err := sender.SyncWait(t.Context(), sender.Retry(s, again)); tries != 5 || err != sender.ErrFull {
		t.Errorf("Retry: %d tries, %v", tries, err)
	}
	if v, err := sender.SyncWait(t.Context(), sender.Fallback(s, sender.Just(2))); v != 2 || err != nil {
		t.Errorf("Fallback: %d, %v", v, err)
	}
	if v, err := sender.SyncWait(t.Context(), sender.UponError(s, func(error) int { return 3 })); v != 3 || err != nil {
		t.Errorf("UponError: %d, %v", v, err)
	}
}

func TestStartsOn(t *testing.T) {
	there := sendertest.NewThread(t)
	eachLeaf(t, func(t *testing.T, l *leaf) {
		o := mapped(l, func(x result) result { return x })
		follow := o.Accept
		o.Accept = func(p sendertest.Point, x result) bool { return follow(p, x) || mayStop(p) && in(x, itStopped) }
		sendertest.Check(t, sender.StartsOn(threadScheduler{there}, l), o)
	})
}

func TestStartsOnStartsThere(t *testing.T) {
	there := sendertest.NewThread(t)
	sch := threadScheduler{there}
	s := sender.StartsOn(sch, sender.ReadEnv(func(e sender.Env) bool {
		return there.Here() && e.Scheduler() == sender.Scheduler(sch) && e.Value("key") == "key"
	}))
	done := make(chan bool)
	rec := &sendertest.Recorder[bool]{Key: "key", Then: func(sendertest.Result[bool]) { close(done) }}
	run(t, s, rec)
	<-done
	if x := rec.Result(); !x.Value {
		t.Errorf("started elsewhere, or in another environment: %v", x)
	}
}

func TestStartsOnStopped(t *testing.T) {
	l := &leaf{OnStart: sendertest.Inline, Result: theValue}
	var loop sender.RunLoop
	var source stop.Source
	rec := &sendertest.Recorder[int]{Stop: &source}
	run(t, sender.StartsOn(&loop, l), rec)
	source.RequestStop()
	if rec.Completed() {
		t.Error("completed inside the stop request")
	}
	loop.Finish()
	loop.Run()
	late := &sendertest.Recorder[int]{Stop: &source}
	run(t, sender.StartsOn(new(sender.RunLoop), l), late) // no goroutine runs it
	abandoned := new(sendertest.Recorder[int])
	run(t, sender.StartsOn(&loop, l), abandoned)
	if !in(rec.Result(), itStopped) || !in(late.Result(), itStopped) ||
		!in(abandoned.Result(), sendertest.Error[int](sender.ErrClosed)) || l.Starts() != 0 {
		t.Errorf("in the queue %v, before Start %v, abandoned %v, %d starts",
			rec.Result(), late.Result(), abandoned.Result(), l.Starts())
	}
}

func TestContinuesOn(t *testing.T) {
	there := sendertest.NewThread(t)
	eachLeaf(t, func(t *testing.T, l *leaf) {
		o := mapped(l, func(x result) result { return x })
		o.Where = there.Here
		sendertest.Check(t, sender.ContinuesOn(l, threadScheduler{there}), o)
	})
}

// A stop request on the way does not change the result.
func TestContinuesOnResultWins(t *testing.T) {
	for _, x := range []result{theValue, theError, itStopped} {
		var loop sender.RunLoop
		var source stop.Source
		rec := &sendertest.Recorder[int]{Stop: &source}
		run(t, sender.ContinuesOn(&leaf{OnStart: sendertest.Inline, Result: x}, &loop), rec)
		source.RequestStop()
		loop.Finish()
		loop.Run()
		if !in(rec.Result(), x) {
			t.Errorf("completed with %v, want %v", rec.Result(), x)
		}
	}
}

func TestContinuesOnAbandoned(t *testing.T) {
	rec := new(sendertest.Recorder[int])
	run(t, sender.ContinuesOn(sender.Just(1), shut{}), rec)
	if !in(rec.Result(), itStopped) {
		t.Errorf("completed with %v", rec.Result())
	}
}

func TestAffineOn(t *testing.T) {
	thread := sendertest.NewThread(t)
	eachLeaf(t, func(t *testing.T, l *leaf) {
		o := mapped(l, func(x result) result { return x })
		o.Do, o.Where = thread.Do, thread.Here
		sendertest.Check(t, sender.AffineOn(l, threadScheduler{thread}), o)
	})
}

// What completes where it is started needs no way back: it would be abandoned on it.
func TestAffineOnSparesTheWay(t *testing.T) {
	rec := new(sendertest.Recorder[int])
	run(t, sender.AffineOn(sender.Then(sender.Just(1), inc), shut{}), rec)
	if !in(rec.Result(), sendertest.Value(2)) {
		t.Errorf("inline: completed with %v", rec.Result())
	}
	rec = new(sendertest.Recorder[int])
	run(t, sender.AffineOn(&leaf{OnStart: sendertest.Inline, Result: theValue}, shut{}), rec)
	if !in(rec.Result(), itStopped) {
		t.Errorf("anywhere: completed with %v", rec.Result())
	}
}
