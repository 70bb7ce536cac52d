package sender_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

type ctxKey struct{}

func TestFromContext(t *testing.T) {
	eachLeaf(t, func(t *testing.T, l *leaf) {
		sendertest.Check(t, sender.FromContext(t.Context(), l), mapped(l, func(x result) result { return x }))
		background := context.WithoutCancel(t.Context())
		sendertest.Check(t, sender.FromContext(background, l), mapped(l, func(x result) result { return x }))
	})
}

// The context stops what the receiver does not.
func TestFromContextStops(t *testing.T) {
	th := sendertest.NewThread(t)
	for _, l := range []*leaf{{OnStop: sendertest.Inline}, {OnStop: sendertest.Later, Thread: th}} {
		for _, when := range []string{"before Connect", "before Start", "after Start", "concurrently"} {
			ctx, cancel := context.WithCancel(t.Context())
			if when == "before Connect" {
				cancel()
			}
			done := make(chan bool)
			rec := &sendertest.Recorder[int]{T: t, Stop: new(stop.Source), Then: func(result) { close(done) }}
			s := sender.FromContext(ctx, l)
			op := sender.StateOf(s)
			s.Connect(op, rec)
			if when == "before Start" {
				cancel()
			}
			if when == "concurrently" {
				go cancel()
			}
			rec.Starting()
			op.Start()
			if when == "after Start" {
				cancel()
			}
			<-done
			if !in(rec.Result(), itStopped) || rec.Stop.Registered() || l.InFlight() != 0 {
				t.Errorf("%s: completed with %v, %d in flight", when, rec.Result(), l.InFlight())
			}
			cancel()
		}
	}
}

func TestFromContextAnswers(t *testing.T) {
	ctx := context.WithValue(t.Context(), ctxKey{}, "ctx")
	rec := start(t, sender.FromContext(ctx, sender.ReadEnv(func(e sender.Env) answers {
		return answers{e.StopToken(), e.Scheduler(), e.Value("key"), e.Value(ctxKey{})}
	})))
	if a := rec.Result().Value; a.token == rec.Stop.Token() || a.sch != rec.Sch || a.key != "key" || a.other != "ctx" {
		t.Errorf("the environment answers %v", a)
	}
	checkEnv(t, "FromContext that is never done", sender.FromContext(context.WithoutCancel(ctx), ask{}), true)
}

func TestToContext(t *testing.T) {
	source := new(stop.Source)
	rec := &sendertest.Recorder[int]{T: t, Stop: source, Key: "key"}
	ctx, cancel := sender.ToContext(rec.Env())
	if ctx.Err() != nil || ctx.Value("key") != "key" || ctx.Value("other") != nil {
		t.Errorf("new: %v, values %v and %v", ctx.Err(), ctx.Value("key"), ctx.Value("other"))
	}
	child, cancelChild := context.WithCancel(ctx)
	defer cancelChild()
	source.RequestStop()
	<-child.Done()
	if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(context.Cause(ctx), sender.ErrStopped) {
		t.Errorf("stopped: %v because of %v", ctx.Err(), context.Cause(ctx))
	}
	cancel()
	cancel()

	source = new(stop.Source)
	ctx, cancel = sender.ToContext(sender.StopEnv{Token: source.Token()})
	if !source.Registered() {
		t.Error("stop requests are not heard")
	}
	cancel()
	if source.Registered() || !errors.Is(context.Cause(ctx), context.Canceled) {
		t.Errorf("cancelled: %v, still registered: %v", context.Cause(ctx), source.Registered())
	}
	ctx, cancel = sender.ToContext(sender.StopEnv{Token: stoppedToken()})
	if ctx.Err() == nil {
		t.Error("stopped before, and not cancelled")
	}
	cancel()
}

// contextFunc calls a function that says that it has begun, blocks until its context is done, and returns what giveUp
// makes of that.
func contextFunc(begun chan<- bool, giveUp func(ctx context.Context) error) sender.Sender[int, contextFuncOp] {
	return sender.Let(sender.ReadEnv(func(e sender.Env) sender.Env { return e }),
		func(e sender.Env) sender.FromFuncSender[int] {
			return sender.FromFunc(func() (int, error) {
				ctx, cancel := sender.ToContext(e)
				defer cancel()
				begun <- true
				<-ctx.Done()
				return 0, giveUp(ctx)
			})
		})
}

type contextFuncOp = sender.LetOp[sender.Env, int, sender.ReadEnvOp[sender.Env], sender.FromFuncOp[int]]

// A function that gives up because its context is done has been stopped, whatever asked it to; what else it
// fails with is its error.
func TestCancelledContextIsAStop(t *testing.T) {
	pool := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 2})
	defer pool.Close()
	errCause := errors.New("cause")
	for name, test := range map[string]struct {
		giveUp  func(ctx context.Context) error
		failure error // what it is if not being stopped
	}{
		"error":   {giveUp: context.Context.Err},
		"cause":   {giveUp: context.Cause},
		"wrapped": {giveUp: func(ctx context.Context) error { return fmt.Errorf("read: %w", ctx.Err()) }},
		"other":   {giveUp: func(context.Context) error { return errLeaf }, failure: errLeaf},
		"own deadline": {giveUp: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 0)
			defer cancel()
			return ctx.Err()
		}, failure: context.DeadlineExceeded},
		"panic": {giveUp: func(ctx context.Context) error { panic(ctx.Err()) }, failure: new(sender.PanicError)},
	} {
		expect := func(how string, err error, stopped ...error) {
			t.Helper()
			for _, want := range stopped {
				if test.failure == nil && !errors.Is(err, want) {
					t.Errorf("%s of %s: %v, want %v", name, how, err, want)
				}
			}
			var p *sender.PanicError
			switch {
			case test.failure == nil:
			case errors.As(test.failure, &p):
				if !errors.As(err, &p) {
					t.Errorf("%s of %s: %v, want a panic", name, how, err)
				}
			case !errors.Is(err, test.failure) || errors.Is(err, sender.ErrStopped) || errors.Is(err, os.ErrDeadlineExceeded):
				t.Errorf("%s of %s: %v, want %v", name, how, err, test.failure)
			}
		}
		begun := make(chan bool)
		work := sender.StartsOn(pool, contextFunc(begun, test.giveUp))
		trigger := sender.StartsOn(pool, sender.FromFunc(func() (struct{}, error) { <-begun; return struct{}{}, nil }))

		_, err := sender.SyncWait(t.Context(), sender.Timeout(work, trigger))
		expect("Timeout", err, os.ErrDeadlineExceeded)

		_, err = sender.SyncWait(t.Context(), sender.StopWhen(work, trigger))
		expect("StopWhen", err, sender.ErrStopped)

		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-begun; cancel(errCause) }()
		_, err = sender.SyncWait(ctx, work)
		expect("SyncWait", err, sender.ErrStopped, errCause)

		future := sender.AsFuture(work)
		<-begun
		future.RequestStop()
		_, err = future.Get(t.Context())
		expect("Future", err, sender.ErrStopped)
	}
}

// The error of SyncWait's own context counts as a stop, whichever child returns it.
func TestSyncWaitOfItsOwnContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := sender.SyncWait(ctx, sender.FromFunc(func() (int, error) { <-ctx.Done(); return 0, ctx.Err() }))
	if !errors.Is(err, sender.ErrStopped) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that it was stopped, and the cause", err)
	}
}

// The same of a sender that makes an error of it by itself.
func TestErrorOfACancelledChild(t *testing.T) {
	gaveUp := sendertest.Error[int](fmt.Errorf("dial: %w", context.Canceled))
	start := func(s func(child *leaf) sender.Any[int], finish ...*leaf) result {
		rec := &sendertest.Recorder[int]{Stop: new(stop.Source)}
		child := &leaf{Result: gaveUp}
		run(t, s(child), rec)
		if len(finish) == 0 {
			rec.Stop.RequestStop()
		}
		for _, l := range finish {
			l.Finish()
		}
		child.Finish()
		return rec.Result()
	}
	clock, other := &leaf{Result: theValue}, &leaf{Result: theValue}
	for name, test := range map[string]struct {
		got, want result
	}{
		"Timeout": {start(func(c *leaf) sender.Any[int] { return sender.Erase(sender.Timeout(c, timer(clock))) }, clock),
			itExpired},
		"StopWhen": {start(func(c *leaf) sender.Any[int] { return sender.Erase(sender.StopWhen(c, clock)) }, clock),
			itStopped},
		"WhenAny": {start(func(c *leaf) sender.Any[int] {
			return sender.Erase(sender.WhenAny(c, &leaf{OnStop: sendertest.Inline}))
		}), itStopped},
		"WhenAll": {start(func(c *leaf) sender.Any[int] {
			all := sender.WhenAll(c, &leaf{OnStop: sendertest.Inline})
			return sender.Erase(sender.Then(all, func(x sender.All2[int, int]) int { return x.A }))
		}), itStopped},
		"WhenAny unasked": {start(func(c *leaf) sender.Any[int] {
			c.OnStart = sendertest.Inline
			return sender.Erase(sender.WhenAny(c, other))
		}, other), gaveUp},
	} {
		if !in(test.got, test.want) {
			t.Errorf("%s completes with %v, want %v", name, test.got, test.want)
		}
	}
}

func stoppedToken() stop.Token {
	source := new(stop.Source)
	source.RequestStop()
	return source.Token()
}
