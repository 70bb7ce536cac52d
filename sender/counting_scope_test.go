package sender_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// A script over a scope and what is to be seen: s spawns work, f finishes the oldest, c closes, j starts
// to join, r requests stop. Upper case: it must be refused (S), or must complete inside Start (J).
func TestCountingScopeStates(t *testing.T) {
	for _, script := range []string{
		"J", "cJ", "cSJ", "sfJ", "sfJS", "JJ", "JSc",
		"sjf", "sjsff", "sjfS", "sjcSf", "scjf", "scSjf", "sfcJ", "sfcSJS",
		"sjjf", "sjcjf", "ssfjf", "rJ", "rsJ", "srJ", "sjr", "sjcr", "sfsjf",
	} {
		t.Run(script, func(t *testing.T) {
			var scope sender.CountingScope
			var work []*leaf
			var joins []*sendertest.Recorder[unit]
			stopped := false
			for _, step := range script {
				switch step {
				case 's', 'S':
					l := &leaf{Result: theValue, OnStop: sendertest.Inline}
					if ok := sender.Spawn(&scope, l); ok != (step == 's') {
						t.Fatalf("%c: spawned: %v", step, ok)
					}
					if step == 's' && !stopped {
						work = append(work, l)
					}
				case 'f':
					work[0].Finish()
					work = work[1:]
				case 'c':
					scope.Close()
				case 'r':
					scope.RequestStop()
					stopped, work = true, nil
				case 'j', 'J':
					rec := new(sendertest.Recorder[unit])
					run(t, scope.Join(), rec)
					joins = append(joins, rec)
				}
				for _, rec := range joins {
					if rec.Completed() != (len(work) == 0) {
						t.Fatalf("%c: joined: %v, with %d in it", step, rec.Completed(), len(work))
					}
				}
			}
			for _, rec := range joins {
				if rec.Result().Channel != sendertest.OnValue {
					t.Errorf("joined with %v", rec.Result())
				}
			}
		})
	}
}

// Work of every behaviour, spawned from several places, with and without a stop request.
func TestSpawn(t *testing.T) {
	th := sendertest.NewThread(t)
	for _, stops := range []bool{false, true} {
		scope := &sender.CountingScope{OnError: func(err error) {
			if !errors.Is(err, errLeaf) {
				t.Errorf("error %v", err)
			}
		}}
		var all []*leaf
		for _, make := range behaviours(th) {
			l := make()
			if endless(l) && !stops {
				continue
			}
			all = append(all, l)
			go func() {
				sender.Spawn(scope, l)
			}()
			sender.Spawn(scope, l)
		}
		if stops {
			scope.RequestStop()
		}
		if _, err := sender.SyncWait(t.Context(), scope.Join()); err != nil {
			t.Error(err)
		}
		for _, l := range all {
			if n := l.InFlight(); n != 0 {
				t.Errorf("%d in flight of %s", n, nameOf(l))
			}
		}
	}
}

func TestSpawnErrors(t *testing.T) {
	var got error
	scope := &sender.CountingScope{OnError: func(err error) { got = err }}
	sender.Spawn(scope, sender.JustError[int](errLeaf))
	if !errors.Is(got, errLeaf) {
		t.Errorf("OnError was given %v", got)
	}
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, errLeaf) {
			t.Errorf("recovered %v, want the error", err)
		}
	}()
	sender.Spawn(new(sender.CountingScope), sender.JustError[int](errLeaf))
}

// A panic of Connect goes to the caller of Spawn, and leaves no association in the scope.
func TestSpawnConnectPanics(t *testing.T) {
	var scope sender.CountingScope
	for _, spawn := range []func(){
		func() { sender.Spawn(&scope, bad{}) },
		func() { sender.SpawnFuture(&scope, bad{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			spawn()
		}()
	}
	rec := new(sendertest.Recorder[unit])
	run(t, scope.Join(), rec)
	if !rec.Completed() {
		t.Error("something is left in the scope")
	}
}

// Spawned work has the stop token of the scope, and otherwise an empty environment.
func TestSpawnEnv(t *testing.T) {
	var scope sender.CountingScope
	var a answers
	sender.Spawn(&scope, sender.Then(ask{}, func(x answers) unit { a = x; return unit{} }))
	if !a.token.StopPossible() || a.token.StopRequested() || a.sch != nil || a.key != nil {
		t.Errorf("the environment answers %v", a)
	}
	if scope.RequestStop(); !a.token.StopRequested() {
		t.Error("the scope's stop request does not reach it")
	}
}

func TestJoin(t *testing.T) {
	th := sendertest.NewThread(t)
	eachLeaf(t, func(t *testing.T, l *leaf) {
		s := sender.Let(sender.Just(1), func(int) sender.JoinSender {
			scope := &sender.CountingScope{OnError: func(error) {}}
			sender.Spawn(scope, l)
			if endless(l) {
				scope.RequestStop()
			}
			return scope.Join()
		})
		sendertest.Check(t, s, sendertest.Options[unit]{
			Accept: func(_ sendertest.Point, x sendertest.Result[unit]) bool { return x.Channel == sendertest.OnValue },
			Rounds: 10, Restartable: true,
		})
	})
	// The scheduler of the environment is where it completes, unless it completes inside Start.
	thread := sendertest.NewThread(t)
	s := sender.Let(sender.Just(1), func(int) sender.JoinSender {
		scope := new(sender.CountingScope)
		sender.Spawn(scope, &leaf{OnStart: sendertest.Later, Thread: th, Result: theValue})
		return scope.Join()
	})
	sendertest.Check(t, s, sendertest.Options[unit]{Where: thread.Here, Do: thread.Do, Scheduler: threadScheduler{thread}})
}

// A Join waits for the work also when it is asked to stop, unless it is stoppable. It may be joined again.
func TestJoinStops(t *testing.T) {
	var scope sender.CountingScope
	l := &leaf{Result: theValue}
	sender.Spawn(&scope, l)
	var source stop.Source
	rec, patient := &sendertest.Recorder[unit]{Stop: &source}, &sendertest.Recorder[unit]{Stop: &source}
	run(t, scope.Join().Stoppable(), rec)
	run(t, scope.Join(), patient)
	source.RequestStop()
	if !rec.Completed() || rec.Result().Channel != sendertest.OnStopped || patient.Completed() {
		t.Errorf("stoppable: %v", rec.Result())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := sender.SyncWait(ctx, scope.Join()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("SyncWait with a deadline: %v", err)
	}
	l.Finish()
	if !patient.Completed() || patient.Result().Channel != sendertest.OnValue {
		t.Error("not joined")
	}
	if _, err := sender.SyncWait(t.Context(), scope.Join()); err != nil {
		t.Errorf("SyncWait with a context that can be done: %v", err)
	}
}

func TestJoinAbandoned(t *testing.T) {
	var scope sender.CountingScope
	l := &leaf{Result: theValue}
	sender.Spawn(&scope, l)
	rec := &sendertest.Recorder[unit]{Sch: shut{}}
	run(t, scope.Join(), rec)
	l.Finish()
	if rec.Result().Channel != sendertest.OnStopped {
		t.Errorf("completed with %v", rec.Result())
	}
}

// A scope may be forgotten when it is joined, also inside of its own stop request.
func TestScopeIsForgottenInsideRequestStop(t *testing.T) {
	scope := new(sender.CountingScope)
	sender.Spawn(scope, &leaf{OnStop: sendertest.Inline})
	rec := &sendertest.Recorder[unit]{Then: func(sendertest.Result[unit]) {
		*scope = sender.CountingScope{}
		sender.Spawn(scope, sender.Just(1))
	}}
	run(t, scope.Join(), rec)
	scope.RequestStop()
	again := new(sendertest.Recorder[unit])
	run(t, scope.Join(), again)
	if !rec.Completed() || !again.Completed() {
		t.Errorf("joined: %v, and the next: %v", rec.Completed(), again.Completed())
	}
}

func TestSpawnFuture(t *testing.T) {
	eachLeaf(t, func(t *testing.T, l *leaf) {
		scope := new(sender.CountingScope)
		s := sender.Let(sender.Just(1), func(int) sender.SpawnedSender[int] { return sender.SpawnFuture(scope, l) })
		sendertest.Check(t, s, mapped(l, func(x result) result { return x }))
		if _, err := sender.SyncWait(t.Context(), scope.Join()); err != nil {
			t.Error(err)
		}
	})
}

// Of two consumers that come at the same time one panics, and the other gets the result.
func TestSpawnFutureOfTwoThreads(t *testing.T) {
	for range 1000 {
		var scope sender.CountingScope
		l := &leaf{Result: theValue}
		s := sender.SpawnFuture(&scope, l)
		var wg sync.WaitGroup
		var panics, waiting atomic.Int32
		var recs [2]sendertest.Recorder[int]
		for i := range recs {
			wg.Go(func() {
				defer func() {
					if recover() != nil {
						panics.Add(1)
					}
				}()
				recs[i].T, recs[i].Stop = t, new(stop.Source)
				op := sender.StateOf(s)
				start := s.Connect(op, &recs[i])
				recs[i].Starting()
				for waiting.Add(1); waiting.Load() < 2; { // both concurrently
					runtime.Gosched()
				}
				start.Start()
			})
		}
		wg.Wait()
		l.Finish()
		if panics.Load() != 1 || recs[0].Completed() == recs[1].Completed() {
			t.Fatalf("%d panics, completed with %v and %v", panics.Load(), recs[0].Result(), recs[1].Result())
		}
	}
}

// The second consumer comes when the first is about to wait.
func TestSpawnFutureOfTwo(t *testing.T) {
	var scope sender.CountingScope
	l := &leaf{Result: theValue}
	s := sender.SpawnFuture(&scope, l)
	rec, panics := new(sendertest.Recorder[int]), 0
	rec.T = t
	first := s.Connect(sender.StateOf(s), askedRecorder{rec, func() {
		defer func() {
			if recover() != nil {
				panics++
			}
		}()
		run(t, s, new(sendertest.Recorder[int]))
	}})
	rec.Starting()
	first.Start()
	l.Finish()
	if panics != 1 || !in(rec.Result(), theValue) {
		t.Errorf("%d panics, the first consumer's result: %v", panics, rec.Result())
	}
}

// askedRecorder calls a function when its environment is asked for.
type askedRecorder struct {
	*sendertest.Recorder[int]
	asked func()
}

func (r askedRecorder) Env() sender.Env {
	r.asked()
	return r.Recorder.Env()
}

func TestSpawnFutureLater(t *testing.T) {
	var scope sender.CountingScope
	for _, x := range []result{theValue, theError, itStopped} {
		s := sender.SpawnFuture(&scope, &leaf{OnStart: sendertest.Inline, Result: x})
		sendertest.Check(t, s, accept(x)) // as often as one likes
	}
	a, b, c := &leaf{OnStop: sendertest.Inline}, &leaf{OnStop: sendertest.Inline}, &leaf{Result: theValue}
	sender.SpawnFuture(&scope, a).Abandon()
	if a.InFlight() != 0 {
		t.Error("abandoned work is not requested to stop")
	}
	byScope, waits := sender.SpawnFuture(&scope, b), sender.SpawnFuture(&scope, c)
	rec, recC := new(sendertest.Recorder[int]), new(sendertest.Recorder[int])
	run(t, byScope, rec)
	run(t, waits, recC)
	scope.RequestStop()
	if !in(rec.Result(), itStopped) || recC.Completed() {
		t.Errorf("stopped by the scope: %v, %v", rec.Result(), recC.Result())
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("two consumers at a time, and no panic")
			}
		}()
		run(t, waits, new(sendertest.Recorder[int]))
	}()
	c.Finish()
	scope.Close()
	d := &leaf{}
	sendertest.Check(t, sender.SpawnFuture(&scope, d), accept(itStopped))
	if d.Starts() != 0 || !in(recC.Result(), theValue) {
		t.Errorf("%d starts in a closed scope; completed with %v", d.Starts(), recC.Result())
	}
}
