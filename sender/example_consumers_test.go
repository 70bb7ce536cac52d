package sender_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

func ExampleFromFunc() {
	s := sender.FromFunc(func() ([]byte, error) { return os.ReadFile("/does/not/exist") })
	_, err := sender.SyncWait(context.Background(), s)
	fmt.Println(errors.Is(err, os.ErrNotExist))
	// Output: true
}

type requestID struct{}

func ExampleReadEnv() {
	s := sender.ReadEnv(func(e sender.Env) any { return e.Value(requestID{}) })
	ctx := context.WithValue(context.Background(), requestID{}, 7)
	fmt.Println(sender.SyncWait(ctx, s))
	// Output: 7 <nil>
}

func ExampleWriteEnv() {
	s := sender.ReadEnv(func(e sender.Env) any { return e.Value(requestID{}) })
	fmt.Println(sender.SyncWait(context.Background(), sender.WriteEnv(s, sender.ValueEnv{Key: requestID{}, Val: 8})))
	// Output: 8 <nil>
}

func ExampleStopEnv() {
	var source stop.Source
	source.RequestStop()
	forever := &sendertest.Leaf[int]{OnStop: sendertest.Inline}
	_, err := sender.SyncWait(context.Background(), sender.WriteEnv(forever, sender.StopEnv{Token: source.Token()}))
	fmt.Println(err)
	// Output: sender: stopped
}

func ExampleSchedulerEnv() {
	var loop sender.RunLoop
	s := sender.WriteEnv(sender.ReadEnv(sender.Env.Scheduler), sender.SchedulerEnv{Sch: &loop})
	sch, _ := sender.SyncWait(context.Background(), s)
	fmt.Println(sch == sender.Scheduler(&loop))
	// Output: true
}

func ExampleUnstoppable() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	polite := sender.ReadEnv(func(e sender.Env) bool { return e.StopToken().StopRequested() })
	fmt.Println(sender.SyncWait(ctx, polite))
	fmt.Println(sender.SyncWait(ctx, sender.Unstoppable(polite)))
	// Output:
	// true <nil>
	// false <nil>
}

func ExampleFromContext() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	forever := &sendertest.Leaf[int]{OnStop: sendertest.Inline}
	_, err := sender.SyncWait(context.Background(), sender.FromContext(ctx, forever))
	fmt.Println(err)
	// Output: sender: stopped
}

// A function that returns when its context is cancelled is stopped by a deadline, as any sender.
func ExampleToContext() {
	wait := func(ctx context.Context) (string, error) { // any Go code
		<-ctx.Done()
		return "", ctx.Err()
	}
	s := sender.Let(sender.ReadEnv(func(e sender.Env) sender.Env { return e }),
		func(e sender.Env) sender.FromFuncSender[string] {
			return sender.FromFunc(func() (string, error) {
				ctx, cancel := sender.ToContext(e)
				defer cancel()
				return wait(ctx)
			})
		})
	pool := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 1})
	defer pool.Close()
	inTime := sender.Timeout(sender.StartsOn(pool, s), sender.ScheduleAfter(sched.NewThread{}, time.Millisecond))
	_, err := sender.SyncWait(context.Background(), inTime)
	fmt.Println(err, errors.Is(err, os.ErrDeadlineExceeded))
	// Output: i/o timeout true
}

func ExampleSyncWait_context() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	forever := &sendertest.Leaf[int]{OnStop: sendertest.Inline}
	_, err := sender.SyncWait(ctx, forever)
	fmt.Println(err)
	fmt.Println(errors.Is(err, sender.ErrStopped), errors.Is(err, context.Canceled))
	// Output:
	// sender: stopped: context canceled
	// true true
}

func ExampleSubmit() {
	sender.Submit(sender.Just("text"), new(connection))
	// Output: value text
}

func ExampleStartDetached() {
	sender.StartDetached(say("on its own"))
	// Output: on its own
}

func ExampleAsFuture() {
	work := &sendertest.Leaf[int]{Result: sendertest.Value(42)}
	f := sender.AsFuture(work)
	go work.Finish()
	<-f.Done() // or as one case of a select
	fmt.Println(f.Get(context.Background()))
	// Output: 42 <nil>
}

func ExampleFuture_RequestStop() {
	f := sender.AsFuture(&sendertest.Leaf[int]{OnStop: sendertest.Inline})
	f.RequestStop()
	_, err := f.Get(context.Background())
	fmt.Println(err)
	// Output: sender: stopped
}

func ExampleCountingScope() {
	scope := sender.CountingScope{OnError: func(err error) { fmt.Println("error", err) }}
	session := &sendertest.Leaf[int]{OnStop: sendertest.Inline} // until stop is requested
	sender.Spawn(&scope, session)
	sender.Spawn(&scope, sender.JustError[int](io.ErrUnexpectedEOF))
	fmt.Println(session.InFlight())
	scope.Close()
	fmt.Println(sender.Spawn(&scope, session))
	scope.RequestStop()
	_, err := sender.SyncWait(context.Background(), scope.Join())
	fmt.Println(session.InFlight(), err)
	// Output:
	// error unexpected EOF
	// 1
	// false
	// 0 <nil>
}

func ExampleSpawn() {
	var scope sender.CountingScope
	fmt.Println(sender.Spawn(&scope, say("spawned")))
	_, _ = sender.SyncWait(context.Background(), scope.Join())
	fmt.Println(sender.Spawn(&scope, say("too late")))
	// Output:
	// spawned
	// true
	// false
}

func ExampleSpawnFuture() {
	var scope sender.CountingScope
	f := sender.SpawnFuture(&scope, say("begun")) // now
	fmt.Println("something else")
	fmt.Println(sender.SyncWait(context.Background(), f)) // later
	_, _ = sender.SyncWait(context.Background(), scope.Join())
	// Output:
	// begun
	// something else
	// begun <nil>
}

// request holds the state of whatever a request is made of.
type request struct {
	op sender.AnyOp[int]
}

// The struct does not name the type of what it runs, and the second of its kind allocates no state.
func ExampleConnect() {
	var r request
	for n := range 2 {
		work := sender.Sequence(sender.Just("hello"), sender.Then(sender.Just(n), inc))
		sender.Connect(&r.op, work, printInt{}).Start()
	}
	// Output:
	// 1
	// 2
}

type printInt struct{ sender.Discard[int] }

func (printInt) SetValue(n int) { fmt.Println(n) }
