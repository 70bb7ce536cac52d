package sender_test

import (
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// answers are what a child learnt from its environment.
type answers struct {
	token      stop.Token
	sch        sender.Scheduler
	key, other any
}

// ask completes with the answers.
type ask struct{}

type askOp struct{ r sender.Receiver[answers] }

func (ask) Connect(op *askOp, r sender.Receiver[answers]) { op.r = r }

func (op *askOp) Start() {
	e := op.r.Env()
	op.r.SetValue(answers{e.StopToken(), e.Scheduler(), e.Value("key"), e.Value("other")})
}

// Every algorithm forwards the environment; those that stop their children do so but for the token.
func TestEnvIsForwarded(t *testing.T) {
	same := func(a answers) answers { return a }
	checkEnv(t, "Then", sender.Then(ask{}, same), true)
	checkEnv(t, "Let, first", sender.Let(ask{}, sender.Just[answers]), true)
	checkEnv(t, "Let, second", sender.Let(sender.Just(1), func(int) ask { return ask{} }), true)
	checkEnv(t, "RepeatUntil", sender.RepeatUntil(ask{}, func(answers) bool { return true }), true)
	checkEnv(t, "WhenAny", sender.WhenAny(ask{}, ask{}), false)
	checkEnv(t, "WhenAny3", sender.WhenAny3(ask{}, ask{}, ask{}), false)
	checkEnv(t, "WhenAnySlice", sender.WhenAnySlice([]ask{{}, {}}), false)
	checkEnv(t, "StopWhen", sender.StopWhen(ask{}, sender.Just(1)), false)
	checkEnv(t, "Timeout", sender.Timeout(ask{}, sender.Just(unit{})), false)
	var a answers
	keep := func(b answers) unit { a = b; return unit{} }
	never := sender.JustStopped[int]()
	recA := start(t, sender.StopWhen(never, sender.Then(ask{}, keep)))
	checkAnswers(t, "StopWhen, trigger", a, recA, false)
	recB := start(t, sender.Timeout(never, sender.Then(ask{}, keep)))
	checkAnswers(t, "Timeout, timer", a, recB, false)
}

func start[T, O any, P sender.Operation[O], S sender.Sender[T, O]](t *testing.T, s S) *sendertest.Recorder[T] {
	t.Helper()
	rec := &sendertest.Recorder[T]{Stop: new(stop.Source), Sch: new(sender.RunLoop), Key: "key"}
	run[T, O, P](t, s, rec)
	return rec
}

func checkEnv[O any, P sender.Operation[O], S sender.Sender[answers, O]](t *testing.T, name string, s S, sameToken bool) {
	t.Helper()
	rec := start[answers, O, P](t, s)
	checkAnswers(t, name, rec.Result().Value, rec, sameToken)
}

func checkAnswers[T any](t *testing.T, name string, a answers, rec *sendertest.Recorder[T], sameToken bool) {
	t.Helper()
	if a.sch != rec.Sch || a.key != "key" || a.other != nil {
		t.Errorf("%s does not forward the environment: %v", name, a)
	}
	if same := a.token == rec.Stop.Token(); same != sameToken || !a.token.StopPossible() {
		t.Errorf("%s: the token is the receiver's: %v, want %v", name, same, sameToken)
	}
}

func TestEmptyEnv(t *testing.T) {
	e := sender.EmptyEnv{}
	if e.StopToken().StopPossible() || e.Scheduler() != nil || e.Value(1) != nil {
		t.Error("the empty environment is not")
	}
}
