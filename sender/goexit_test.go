package sender_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// exit ends its goroutine, as a user's function may.
func exit[A, B any](A) B {
	runtime.Goexit()
	panic("unreachable")
}

// exits returns senders that call such a function, by its place.
func exits() map[string]sender.Any[int] {
	one, failing := sender.Just(1), sender.JustError[int](errLeaf)
	stopped := sender.JustStopped[int]()
	fromFunc := sender.FromFunc(func() (int, error) { return exit[unit, int](unit{}), nil })
	connects := exitingConnect{}
	return map[string]sender.Any[int]{
		"FromFunc":    sender.Erase(fromFunc),
		"ReadEnv":     sender.Erase(sender.ReadEnv(exit[sender.Env, int])),
		"Then":        sender.Erase(sender.Then(one, exit[int, int])),
		"UponError":   sender.Erase(sender.UponError(failing, exit[error, int])),
		"UponStopped": sender.Erase(sender.UponStopped(stopped, func() int { return exit[unit, int](unit{}) })),
		"Let":         sender.Erase(sender.Let(one, exit[int, sender.JustSender[int]])),
		"LetError":    sender.Erase(sender.LetError(failing, exit[error, sender.JustSender[int]])),
		"LetStopped": sender.Erase(sender.LetStopped(stopped,
			func() sender.JustSender[int] { return exit[unit, sender.JustSender[int]](unit{}) })),
		"Bulk":           sender.Erase(sender.Bulk(one, 3, func(int, int) { runtime.Goexit() })),
		"Sequence":       sender.Erase(sender.Sequence(one, connects)),
		"SequenceSlice":  sender.Erase(sender.SequenceSlice([]exitingConnect{{}})),
		"Fallback":       sender.Erase(sender.Fallback(failing, connects)),
		"Repeat":         sender.Erase(sender.Repeat(fromFunc)),
		"RepeatUntil":    sender.Erase(sender.RepeatUntil(one, exit[int, bool])),
		"Repeat connect": sender.Erase(sender.Repeat(connects)),
		"Retry":          sender.Erase(sender.Retry(fromFunc, func(n int, _ error) bool { return n < 3 })),
		"Retry again":    sender.Erase(sender.Retry(failing, func(int, error) bool { return exit[unit, bool](unit{}) })),
		"Retry connect":  sender.Erase(sender.Retry(connects, func(int, error) bool { return true })),
		"WhenAll": sender.Erase(sender.Then(sender.WhenAll(fromFunc, one),
			func(sender.All2[int, int]) int { return 1 })),
		"WhenAll of two": sender.Erase(sender.Then(sender.WhenAll(fromFunc, fromFunc),
			func(sender.All2[int, int]) int { return 1 })),
		"WhenAllSlice": sender.Erase(sender.Then(sender.WhenAllSlice([]sender.FromFuncSender[int]{fromFunc, fromFunc,
			fromFunc}, 0),
			func([]int) int { return 1 })),
		"WhenAllSlice, bounded": sender.Erase(sender.Then(sender.WhenAllSlice([]sender.FromFuncSender[int]{fromFunc,
			fromFunc, fromFunc}, 1),
			func([]int) int { return 1 })),
		"FirstSuccess": sender.Erase(sender.FirstSuccessSlice([]sender.FromFuncSender[int]{fromFunc, fromFunc})),
		"WhenAny":      sender.Erase(sender.WhenAny(fromFunc, one)),
		"StopWhen":     sender.Erase(sender.StopWhen(fromFunc, sender.Just(unit{}))),
		"Timeout":      sender.Erase(sender.Timeout(fromFunc, sender.JustStopped[unit]())),
		"Finally":      sender.Erase(sender.Finally(fromFunc, one)),
		"Split":        sender.Erase(sender.Split(fromFunc)),
	}
}

// exitingConnect is a sender whose Connect ends the goroutine.
type exitingConnect struct{}

func (exitingConnect) Connect(*sender.JustOp[int], sender.Receiver[int]) sender.Operation {
	return exit[unit, sender.Operation](unit{})
}

// Whichever function calls Goexit, the operation completes.
func TestGoexitIsAnError(t *testing.T) {
	for name, s := range exits() {
		rec := new(sendertest.Recorder[int])
		var over sync.WaitGroup
		over.Go(func() { run(t, s, rec) })
		over.Wait()
		if !rec.Completed() {
			t.Errorf("%s: did not complete", name)
		} else if x := rec.Result(); x.Channel != sendertest.OnError || !errors.Is(x.Err, sender.ErrGoexit) {
			t.Errorf("%s: completed with %v", name, x)
		}
	}
}

// A run loop outlives what is called on it, and the goroutine ends when the loop has.
func TestRunLoopOutlivesGoexit(t *testing.T) {
	var l sender.RunLoop
	ended := make(chan bool)
	go func() {
		returned := false
		defer func() { ended <- returned }()
		l.Run()
		returned = true
	}()
	for range 3 {
		for name, s := range exits() {
			if _, err := sender.AsFuture(sender.StartsOn(&l, s)).Get(t.Context()); !errors.Is(err, sender.ErrGoexit) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := sender.AsFuture(sender.Schedule(&l)).Get(t.Context()); err != nil {
		t.Error(err)
	}
	l.Finish()
	if <-ended {
		t.Error("Run returned after a Goexit")
	}
}

// SyncWait waits for what is still in flight when a function ends its goroutine.
func TestSyncWaitGoexitWaits(t *testing.T) {
	l := &leaf{OnStop: sendertest.Later, Thread: sendertest.NewThread(t)}
	var over sync.WaitGroup
	over.Go(func() {
		_, err := sender.SyncWait(t.Context(),
			sender.WhenAll(sender.FromFunc(func() (int, error) { runtime.Goexit(); return 1, nil }), l))
		t.Errorf("returned with %v", err)
	})
	over.Wait()
	if n := l.InFlight(); n != 0 {
		t.Errorf("%d in flight", n)
	}
}

// A stop request runs all its handlers, whatever one of them does, and goroutines that wait for it continue.
func TestStopRequestOutlivesGoexit(t *testing.T) {
	shared := sender.Split(&leaf{Result: theValue})
	var source stop.Source
	const n = 3
	var recs [n + 1]*sendertest.Recorder[int]
	for i := range recs {
		recs[i] = &sendertest.Recorder[int]{Stop: &source}
		// A consumer that is not the last completes inside the stop request.
		run(t, sender.UponStopped(shared, func() int { return exit[unit, int](unit{}) }), recs[i])
	}
	var over sync.WaitGroup
	over.Go(func() { source.RequestStop() })
	over.Wait()
	completed := 0
	for _, rec := range recs {
		if rec.Completed() {
			completed++
		}
	}
	if completed < n || source.Registered() {
		t.Errorf("%d have completed; one is registered: %v", completed, source.Registered())
	}
}

// All that wait for a scope or for a shared result complete, whatever one of them does.
func TestWaitersOutliveGoexit(t *testing.T) {
	for name, waiters := range map[string]func(*leaf) func() sender.Any[int]{
		"Join": func(l *leaf) func() sender.Any[int] {
			scope := new(sender.CountingScope)
			sender.Spawn(scope, l)
			return func() sender.Any[int] { return sender.Erase(sender.Then(scope.Join(), exit[unit, int])) }
		},
		"Split": func(l *leaf) func() sender.Any[int] {
			shared := sender.Split(l)
			return func() sender.Any[int] { return sender.Erase(sender.Then(shared, exit[int, int])) }
		},
		"SpawnFuture, Join": func(l *leaf) func() sender.Any[int] {
			scope := new(sender.CountingScope)
			future := sender.SpawnFuture(scope, l)
			n := 0
			return func() sender.Any[int] {
				if n++; n == 1 {
					return sender.Erase(sender.Then(future, exit[int, int]))
				}
				return sender.Erase(sender.Then(scope.Join(), exit[unit, int]))
			}
		},
	} {
		l := &leaf{Result: theValue}
		next := waiters(l)
		var recs [3]*sendertest.Recorder[int]
		for i := range recs {
			recs[i] = new(sendertest.Recorder[int])
			run(t, next(), recs[i])
		}
		var over sync.WaitGroup
		over.Go(func() { l.Finish() })
		over.Wait()
		for i, rec := range recs {
			if !rec.Completed() || rec.Result().Err != sender.ErrGoexit {
				t.Errorf("%s: waiter %d has completed: %v", name, i, rec.Completed())
			}
		}
	}
}

// A panic is never a stop, whatever it panics with; what else that wraps is found.
func TestPanicIsNotAStop(t *testing.T) {
	cause := errors.New("cause")
	for _, v := range []error{
		sender.ErrStopped,
		fmt.Errorf("deeper: %w", sender.ErrStopped),
		fmt.Errorf("%w: %w", sender.ErrStopped, cause),
		sender.NewPanicError(sender.ErrStopped),
	} {
		_, err := sender.SyncWait(t.Context(), sender.FromFunc(func() (int, error) { panic(v) }))
		if p, ok := errors.AsType[*sender.PanicError](err); !ok || p.Value != v || errors.Is(err, sender.ErrStopped) {
			t.Errorf("a panic with %v completed with %v", v, err)
		}
		if errors.Is(err, cause) != errors.Is(v, cause) {
			t.Errorf("errors.Is(%v, cause): %v", err, errors.Is(err, cause))
		}
		rec := &sendertest.Recorder[int]{T: t}
		rec.Starting()
		if sender.Complete(rec, 1, err); rec.Result().Channel != sendertest.OnError {
			t.Errorf("Complete with %v: %v", err, rec.Result())
		}
	}
	var source stop.Source
	rec := &sendertest.Recorder[int]{Stop: &source}
	done := make(chan sendertest.Result[int])
	rec.Then = func(x sendertest.Result[int]) { done <- x }
	run(t, sender.Call(func(ctx context.Context) (int, error) {
		source.RequestStop()
		panic(context.Cause(ctx))
	}), rec)
	if x := <-done; x.Channel != sendertest.OnError {
		t.Errorf("Call that panics with its context's cause: %v", x)
	}
	wrapped := fmt.Errorf("in a task: %w", sender.NewPanicError(&time.ParseError{Message: "mine"}))
	if e, ok := errors.AsType[*time.ParseError](wrapped); !ok || e.Message != "mine" {
		t.Errorf("As: %v", e)
	}
}
