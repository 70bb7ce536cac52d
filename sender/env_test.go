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

func (ask) Connect(op *askOp, r sender.Receiver[answers]) sender.Operation {
	op.r = r
	return op
}

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
	checkEnv(t, "WhenAnySlice", sender.WhenAnySlice([]ask{{}, {}}), false)
	checkEnv(t, "FirstSuccess", sender.FirstSuccess(ask{}, ask{}), false)
	checkEnv(t, "FirstSuccessSlice", sender.FirstSuccessSlice([]ask{{}, {}}), false)
	checkEnv(t, "StopWhen", sender.StopWhen(ask{}, sender.Just(1)), false)
	checkEnv(t, "Timeout", sender.Timeout(ask{}, sender.Just(unit{})), false)
	fails, stops, first := sender.JustError[answers](errLeaf), sender.JustStopped[answers](), sender.Just(1)
	checkEnv(t, "UponError", sender.UponError(ask{}, func(error) answers { return answers{} }), true)
	checkEnv(t, "UponStopped", sender.UponStopped(ask{}, func() answers { return answers{} }), true)
	checkEnv(t, "LetError, first", sender.LetError(ask{}, func(error) ask { return ask{} }), true)
	checkEnv(t, "LetError, second", sender.LetError(fails, func(error) ask { return ask{} }), true)
	checkEnv(t, "LetStopped, first", sender.LetStopped(ask{}, func() ask { return ask{} }), true)
	checkEnv(t, "LetStopped, second", sender.LetStopped(stops, func() ask { return ask{} }), true)
	checkEnv(t, "Sequence, first", sender.Sequence(sender.Then(ask{}, func(x answers) answers { return x }), ask{}), true)
	checkEnv(t, "Sequence, last", sender.Sequence(first, ask{}), true)
	checkEnv(t, "SequenceSlice", sender.SequenceSlice([]ask{{}, {}}), true)
	checkEnv(t, "Finally", sender.Finally(ask{}, first), true)
	checkEnv(t, "Fallback, first", sender.Fallback(ask{}, ask{}), true)
	checkEnv(t, "Fallback, second", sender.Fallback(fails, ask{}), true)
	checkEnv(t, "Retry", sender.Retry(ask{}, func(int, error) bool { return true }), true)
	checkEnv(t, "WhenAll", sender.Then(sender.WhenAll(ask{}, first),
		func(x sender.All2[answers, int]) answers { return x.A }), false)
	checkEnv(t, "WhenAll, last", sender.Then(sender.WhenAll(first, ask{}),
		func(x sender.All2[int, answers]) answers { return x.B }), false)
	checkEnv(t, "WhenAllSlice", sender.Then(sender.WhenAllSlice([]ask{{}, {}}, 0),
		func(x []answers) answers { return x[1] }), false)
	checkEnv(t, "WhenAny, last", sender.WhenAny(stops, ask{}), false)
	checkEnv(t, "ContinuesOn", sender.ContinuesOn(ask{}, immediate{}), true)
	checkEnv(t, "AffineOn", sender.AffineOn(ask{}, immediate{}), true)
	checkEnv(t, "IntoOptional", sender.Then(sender.IntoOptional(ask{}),
		func(x sender.Optional[answers]) answers { return x.Value }), true)
	checkEnv(t, "IntoResult", sender.Then(sender.IntoResult(ask{}),
		func(x sender.Result[answers]) answers { return x.Value }), true)
	checkEnv(t, "Bulk", sender.Bulk(ask{}, 1, func(int, answers) {}), true)
	var a answers
	keep := func(b answers) unit { a = b; return unit{} }
	never := sender.JustStopped[int]()
	recA := start(t, sender.StopWhen(never, sender.Then(ask{}, keep)))
	checkAnswers(t, "StopWhen, trigger", a, recA, false)
	recB := start(t, sender.Timeout(never, sender.Then(ask{}, keep)))
	checkAnswers(t, "Timeout, timer", a, recB, false)
	recC := start(t, sender.RetryAfter(sender.JustError[int](errLeaf),
		func(n int, _ error) (sender.Sender[unit, keepOp], bool) {
			return sender.Then(ask{}, keep), n < 2
		}))
	checkAnswers(t, "RetryAfter, wait", a, recC, true)
	recD := start(t, sender.Finally(never, sender.Then(ask{}, keep)))
	if a.sch != recD.Sch || a.key != "key" || a.token.StopPossible() {
		t.Errorf("Finally, clean-up: the environment is %v", a)
	}
}

type keepOp = sender.ThenOp[answers, unit, askOp]

func start[T, O any, S sender.Sender[T, O]](t *testing.T, s S) *sendertest.Recorder[T] {
	t.Helper()
	rec := &sendertest.Recorder[T]{Stop: new(stop.Source), Sch: new(sender.RunLoop), Key: "key"}
	run[T, O](t, s, rec)
	return rec
}

func checkEnv[O any, S sender.Sender[answers, O]](t *testing.T, name string, s S, sameToken bool) {
	t.Helper()
	rec := start[answers, O](t, s)
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
