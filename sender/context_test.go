package sender_test

import (
	"context"
	"errors"
	"testing"

	"github.com/reactord/reactord/sender"
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
			op := stateOf(s)
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

func stoppedToken() stop.Token {
	source := new(stop.Source)
	source.RequestStop()
	return source.Token()
}
