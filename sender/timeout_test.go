package sender_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

var itExpired = sendertest.Error[int](os.ErrDeadlineExceeded)

func timer(l *leaf) sender.Sender[struct{}, timerOp] {
	return sender.Then(l, func(int) struct{} { return struct{}{} })
}

type timerOp = sender.ThenOp[int, struct{}, sendertest.LeafOp[int]]

func TestTimeout(t *testing.T) {
	eachPair(t, func(t *testing.T, s, clock *leaf) {
		fires := !endless(clock) && clock.Result.Channel != sendertest.OnStopped
		expired := itExpired
		if clock.Result.Channel == sendertest.OnError {
			expired = clock.Result
		}
		sendertest.Check(t, sender.Timeout(s, timer(clock)), sendertest.Options[int]{
			Accept: func(p sendertest.Point, x result) bool {
				if isStopped(p) {
					return in(x, itStopped)
				}
				if in(x, s.Result) && !(s.Result.Channel == sendertest.OnStopped && endless(s) && !mayStop(p)) {
					return true
				}
				return mayStop(p) && in(x, itStopped) || fires && in(x, expired)
			},
			Endless:     endless(s) && !fires,
			Restartable: true,
			Rounds:      1,
		})
	})
}

// The script: c completes the child, t the timer, s requests stop.
func TestTimeoutOrders(t *testing.T) {
	for _, test := range []struct {
		name   string
		child  result // ignored if the child stops
		stops  bool   // the child completes when stop is requested
		timer  result
		script string
		want   result
	}{
		{"in time", theValue, false, theValue, "ct", theValue},
		{"failed in time", theError, false, theValue, "ct", theError},
		{"stopped by itself in time", itStopped, false, theValue, "ct", itStopped},
		{"expired", theValue, true, theValue, "t", itExpired},
		{"expired, stopped later", itStopped, false, theValue, "tc", itExpired},
		{"expired, but a value came", theValue, false, theValue, "tc", theValue},
		{"expired, but an error came", theError, false, theValue, "tc", theError},
		{"timer failed", theValue, true, theError, "t", theError},
		{"timer failed, but a value came", theValue, false, theError, "tc", theValue},
		{"timer stopped", theValue, true, itStopped, "tc", theValue},
		{"stopped", theValue, true, theValue, "st", itStopped},
		{"stopped before it expired", itStopped, false, theValue, "stc", itStopped},
		{"expired before it was stopped", itStopped, false, theValue, "tsc", itExpired},
	} {
		t.Run(test.name, func(t *testing.T) {
			var source stop.Source
			child, clock := &leaf{Result: test.child}, &leaf{Result: test.timer}
			if test.stops {
				child.OnStop = sendertest.Inline
			}
			rec := &sendertest.Recorder[int]{Stop: &source}
			run(t, sender.Timeout(child, timer(clock)), rec)
			for _, step := range test.script {
				if rec.Completed() {
					t.Fatalf("completed with %v before step %c", rec.Result(), step)
				}
				switch step {
				case 'c':
					child.Finish()
				case 't':
					clock.Finish()
				case 's':
					source.RequestStop()
				}
			}
			if x := rec.Result(); !in(x, test.want) {
				t.Errorf("completed with %v, want %v", x, test.want)
			}
		})
	}
}

// partly is a sender that has done 3 when it is stopped.
type partly struct{}

type partlyOp struct {
	r      sender.Receiver[int]
	onStop stop.Callback
}

func (partly) Connect(op *partlyOp, r sender.Receiver[int]) sender.Operation {
	op.r = r
	return op
}

func (op *partlyOp) Start() { op.onStop.Register(op.r.Env().StopToken(), op) }

func (op *partlyOp) OnStop() {
	op.onStop.Deregister()
	sender.SetPartial(op.r, 3, sender.ErrStopped)
}

// A part that was done by the deadline is no success, and is not lost.
func TestTimeoutOfAPart(t *testing.T) {
	soon := func() sender.Sender[struct{}, timerOp] {
		return timer(&leaf{OnStart: sendertest.Inline, Result: theValue})
	}
	never := func() sender.Sender[struct{}, timerOp] {
		return timer(&leaf{OnStop: sendertest.Inline, Result: itStopped})
	}
	_, err := sender.SyncWait(t.Context(), sender.Timeout(partly{}, soon()))
	part, ok := errors.AsType[*sender.PartialError[int]](err)
	if !ok || part.Value != 3 || !errors.Is(err, os.ErrDeadlineExceeded) || err.Error() != "i/o timeout, after a part: 3" {
		t.Errorf("completed with %v", err)
	}
	var drain stop.Source
	_, err = sender.SyncWait(t.Context(),
		sender.Timeout(sender.WriteEnv(partly{}, sender.StopEnv{Token: drain.Token()}), soon()))
	if _, ok := errors.AsType[*sender.PartialError[int]](err); !ok {
		t.Errorf("inside of WriteEnv: completed with %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, s := range map[string]interface {
		wait(ctx context.Context) (int, error)
	}{
		"alone":    waitFor(partly{}),
		"in time":  waitFor(sender.Timeout(partly{}, never())),
		"WriteEnv": waitFor(sender.WriteEnv(partly{}, sender.StopEnv{Token: drain.Token()})),
		"StopWhen": waitFor(sender.StopWhen(partly{}, never())),
	} {
		n, err := s.wait(ctx)
		if name == "in time" || name == "StopWhen" {
			if n != 0 || !errors.Is(err, sender.ErrStopped) { // neither was started
				t.Errorf("%s: %d, %v", name, n, err)
			}
		} else if n != 3 || !errors.Is(err, sender.ErrStopped) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	rec := &plain{}
	var op partlyOp
	partly{}.Connect(&op, rec).Start()
	rec.source.RequestStop()
	if rec.got != 3 {
		t.Errorf("a receiver that knows no parts has %d", rec.got)
	}
}

// plain is a receiver that is no PartialReceiver.
type plain struct {
	sender.EmptyEnv
	sender.Discard[int]
	source stop.Source
	got    int
}

func (p *plain) SetValue(v int)        { p.got = v }
func (p *plain) Env() sender.Env       { return p }
func (p *plain) StopToken() stop.Token { return p.source.Token() }

type blocking[T, O any, S sender.Sender[T, O]] struct{ s S }

func waitFor[T, O any, S sender.Sender[T, O]](s S) blocking[T, O, S] { return blocking[T, O, S]{s} }

func (w blocking[T, O, S]) wait(ctx context.Context) (T, error) {
	return sender.SyncWait[T, O](ctx, w.s)
}
