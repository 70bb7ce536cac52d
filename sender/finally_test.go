package sender_test

import (
	"errors"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

var errCleanup = errors.New("cleanup")

func TestFinally(t *testing.T) {
	eachPair(t, func(t *testing.T, s, cleanup *leaf) {
		if endless(cleanup) {
			return // no stop request would reach it
		}
		if cleanup.Result.Channel == sendertest.OnError {
			cleanup.Result.Err = errCleanup
		}
		sendertest.Check(t, sender.Finally(s, cleanup), sendertest.Options[int]{
			Accept: func(p sendertest.Point, x result) bool {
				if cleanup.Result.Channel != sendertest.OnError {
					return in(x, outcomes(s, p)...)
				}
				failed := s.Result.Channel == sendertest.OnError && !mayStop(p)
				return errors.Is(x.Err, errCleanup) && (!failed || errors.Is(x.Err, errLeaf))
			},
			Endless:     endless(s),
			Restartable: true,
			Rounds:      1,
		})
		if s.Starts() != cleanup.Starts() {
			t.Errorf("%d starts, %d of the clean-up", s.Starts(), cleanup.Starts())
		}
	})
}

// The clean-up is shielded from a stop request, and it is that which is waited for.
func TestFinallyCleanupIsNotStopped(t *testing.T) {
	var source stop.Source
	s, cleanup := &leaf{OnStop: sendertest.Inline}, &leaf{OnStop: sendertest.Inline, Result: theValue}
	rec := &sendertest.Recorder[int]{Stop: &source}
	run(t, sender.Finally(s, cleanup), rec)
	source.RequestStop()
	if rec.Completed() || cleanup.InFlight() != 1 {
		t.Fatalf("completed with %v, %d clean-ups in flight", rec.Result(), cleanup.InFlight())
	}
	cleanup.Finish()
	if !in(rec.Result(), itStopped) {
		t.Errorf("completed with %v", rec.Result())
	}
}
