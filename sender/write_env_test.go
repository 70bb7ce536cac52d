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
	checkEnv(t, "WriteEnv of nothing", sender.WriteEnv(ask{}, sender.EmptyEnv{}), true)
	var source stop.Source
	var loop sender.RunLoop
	rec := start(t, sender.WriteEnv(ask{}, sender.StopEnv{Token: source.Token()}))
	if a := rec.Result().Value; a.token != source.Token() || a.sch != rec.Sch || a.key != "key" || a.other != nil {
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
