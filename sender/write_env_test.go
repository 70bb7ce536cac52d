package sender_test

import (
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// What the written environment answers goes first; what it leaves open is forwarded.
func TestWriteEnv(t *testing.T) {
	eachLeaf(t, func(t *testing.T, l *leaf) {
		sendertest.Check(t, sender.WriteEnv(l, sender.EmptyEnv{}), mapped(l, func(x result) result { return x }))
	})
	var never stop.Source
	eachLeaf(t, func(t *testing.T, l *leaf) {
		sendertest.Check(t, sender.WriteEnv(l, sender.StopEnv{Token: never.Token()}),
			mapped(l, func(x result) result { return x }))
	})
	checkEnv(t, "WriteEnv of nothing", sender.WriteEnv(ask{}, sender.EmptyEnv{}), true)
	var source stop.Source
	var loop sender.RunLoop
	rec := start(t, sender.WriteEnv(ask{}, sender.StopEnv{Token: source.Token()}))
	if a := rec.Result().Value; a.token == source.Token() || a.token == rec.Stop.Token() || !a.token.StopPossible() ||
		a.sch != rec.Sch || a.key != "key" || a.other != nil {
		t.Errorf("with a token: %v", a)
	}
	rec = start(t, sender.WriteEnv(ask{}, sender.SchedulerEnv{Sch: &loop}))
	if a := rec.Result().Value; a.token != rec.Stop.Token() || a.sch != sender.Scheduler(&loop) ||
		a.key != "key" || a.other != nil {
		t.Errorf("with a scheduler: %v", a)
	}
	rec = start(t, sender.WriteEnv(ask{}, sender.ValueEnv{Key: "other", Val: 2}))
	if a := rec.Result().Value; a.token != rec.Stop.Token() || a.sch != rec.Sch || a.key != "key" || a.other != 2 {
		t.Errorf("with a value: %v", a)
	}
	rec = start(t, sender.WriteEnv(ask{}, sender.ValueEnv{Key: "key", Val: 2}))
	if a := rec.Result().Value; a.key != 2 {
		t.Errorf("with a value for the same key: %v", a)
	}
}

// Both environments can stop the operation: the written one does not keep the requests of the receiver away.
func TestWriteEnvIsStoppedByEither(t *testing.T) {
	for name, request := range map[string]func(written, receiver *stop.Source){
		"by the written one": func(written, _ *stop.Source) { written.RequestStop() },
		"by the receiver":    func(_, receiver *stop.Source) { receiver.RequestStop() },
		"by both":            func(written, receiver *stop.Source) { written.RequestStop(); receiver.RequestStop() },
	} {
		var written, receiver stop.Source
		rec := &sendertest.Recorder[int]{Stop: &receiver}
		child := &leaf{Result: theValue, OnStop: sendertest.Inline}
		run(t, sender.WriteEnv(child, sender.StopEnv{Token: written.Token()}), rec)
		request(&written, &receiver)
		if x := rec.Result(); !in(x, itStopped) || written.Registered() || receiver.Registered() {
			t.Errorf("%s: completed with %v", name, x)
		}
	}
	var written stop.Source
	written.RequestStop()
	rec := &sendertest.Recorder[int]{Stop: new(stop.Source)}
	child := &leaf{Result: theValue, OnStop: sendertest.Inline}
	run(t, sender.WriteEnv(child, sender.StopEnv{Token: written.Token()}), rec)
	if x := rec.Result(); !in(x, itStopped) {
		t.Errorf("before Start: completed with %v", x)
	}
}

// A timeout reaches an operation that has its own stop token.
func TestTimeoutOfWriteEnv(t *testing.T) {
	var drain stop.Source
	child, clock := &leaf{Result: theValue, OnStop: sendertest.Inline}, new(leaf)
	clock.Result = theValue
	rec := &sendertest.Recorder[int]{Stop: new(stop.Source)}
	run(t, sender.Timeout(sender.WriteEnv(child, sender.StopEnv{Token: drain.Token()}), timer(clock)), rec)
	clock.Finish()
	if x := rec.Result(); !in(x, itExpired) {
		t.Errorf("completed with %v", x)
	}
}

// The nearest one to the question answers it.
func TestWriteEnvNests(t *testing.T) {
	inner := sender.WriteEnv(ask{}, sender.ValueEnv{Key: "other", Val: "inner"})
	rec := start(t, sender.WriteEnv(inner, sender.ValueEnv{Key: "other", Val: "outer"}))
	if a := rec.Result().Value; a.other != "inner" {
		t.Errorf("answered %v", a.other)
	}
}

func TestReadEnv(t *testing.T) {
	rec := &sendertest.Recorder[any]{Key: "key"}
	run(t, sender.ReadEnv(func(e sender.Env) any { return e.Value("key") }), rec)
	if x := rec.Result(); x.Value != "key" {
		t.Errorf("read %v", x)
	}
	sendertest.Check(t, sender.ReadEnv(func(e sender.Env) bool { return e.StopToken().StopRequested() }),
		sendertest.Options[bool]{
			Accept: func(p sendertest.Point, x sendertest.Result[bool]) bool {
				return x.Channel == sendertest.OnValue && (p == sendertest.Concurrently || x.Value == isStopped(p))
			},
			Restartable: true,
		})
}

func TestUnstoppable(t *testing.T) {
	eachLeaf(t, func(t *testing.T, l *leaf) {
		if endless(l) {
			return
		}
		o := accept(l.Result)
		sendertest.Check(t, sender.Unstoppable(l), o)
	})
	rec := start(t, sender.Unstoppable(ask{}))
	if a := rec.Result().Value; a.token.StopPossible() || a.sch != rec.Sch || a.key != "key" || a.other != nil {
		t.Errorf("the environment is %v", a)
	}
}
