package sender_test

import (
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

func TestStopWhen(t *testing.T) {
	eachPair(t, func(t *testing.T, s, trigger *leaf) {
		sendertest.Check(t, sender.StopWhen(s, trigger), sendertest.Options[int]{
			Accept: func(p sendertest.Point, x result) bool {
				if isStopped(p) {
					return in(x, itStopped)
				}
				if in(x, itStopped) && (mayStop(p) || s.OnStop != sendertest.Nothing && !endless(trigger)) {
					return true
				}
				return in(x, s.Result)
			},
			Endless:     endless(s) && endless(trigger),
			Restartable: true,
			Rounds:      1,
		})
	})
}

func TestStopWhenTriggerStops(t *testing.T) {
	for _, how := range []result{theValue, theError, itStopped} {
		s, trigger := &leaf{OnStop: sendertest.Inline}, &leaf{Result: how}
		rec := new(sendertest.Recorder[int])
		run(t, sender.StopWhen(s, trigger), rec)
		trigger.Finish()
		if x := rec.Result(); !in(x, itStopped) {
			t.Errorf("trigger with %v: completed with %v, want stopped", how, x)
		}
	}
}

func TestStopWhenResultWins(t *testing.T) {
	for _, want := range []result{theValue, theError, itStopped} {
		s, trigger := &leaf{Result: want}, &leaf{Result: theValue}
		rec := new(sendertest.Recorder[int])
		run(t, sender.StopWhen(s, trigger), rec)
		trigger.Finish()
		if rec.Completed() {
			t.Error("completed with the child in flight")
		}
		s.Finish()
		if x := rec.Result(); !in(x, want) {
			t.Errorf("completed with %v, want %v", x, want)
		}
	}
}

func TestStopWhenJoinsTrigger(t *testing.T) {
	s, trigger := &leaf{Result: theValue}, &leaf{Result: theError}
	rec := new(sendertest.Recorder[int])
	run(t, sender.StopWhen(s, trigger), rec)
	s.Finish()
	if rec.Completed() {
		t.Error("completed with the trigger in flight")
	}
	trigger.Finish()
	if x := rec.Result(); !in(x, theValue) {
		t.Errorf("completed with %v, want %v", x, theValue)
	}
}
