package sender_test

import (
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
