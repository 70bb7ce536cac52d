package sender_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// Three attempts at most, of a child and with a back-off of every behaviour.
func TestRetryAfter(t *testing.T) {
	eachPair(t, func(t *testing.T, s, wait *leaf) {
		retry := sender.RetryAfter(s, func(failed int, err error) (*leaf, bool) {
			if !errors.Is(err, errLeaf) {
				t.Errorf("told of %v", err)
			}
			return wait, failed < 3
		})
		sendertest.Check(t, retry, sendertest.Options[int]{
			Accept: func(p sendertest.Point, x result) bool {
				if mayStop(p) && in(x, itStopped) {
					return true
				}
				if s.Result.Channel != sendertest.OnError {
					return in(x, s.Result)
				}
				return in(x, s.Result, wait.Result) && x.Channel != sendertest.OnValue
			},
			Endless:     endless(s) || s.Result.Channel == sendertest.OnError && endless(wait),
			Restartable: true,
			Rounds:      1,
		})
	})
}

func TestRetry(t *testing.T) {
	for succeeds := 1; succeeds <= 5; succeeds++ {
		attempts := 0
		s := sender.FromFunc(func() (int, error) {
			if attempts++; attempts == succeeds {
				return attempts, nil
			}
			return 0, errLeaf
		})
		told := 0
		rec := new(sendertest.Recorder[int])
		run(t, sender.Retry(s, func(failed int, err error) bool {
			if told++; failed != told || !errors.Is(err, errLeaf) {
				t.Errorf("told of failure %d, %v", failed, err)
			}
			return failed < 3
		}), rec)
		want, n := sendertest.Value(succeeds), succeeds
		if succeeds > 3 {
			want, n = theError, 3
		}
		if !in(rec.Result(), want) || attempts != n {
			t.Errorf("%v after %d attempts, want %v after %d", rec.Result(), attempts, want, n)
		}
	}
}

func TestRetryWaitDecides(t *testing.T) {
	for _, test := range []struct{ wait, want result }{
		{theValue, theError}, {sendertest.Error[int](errCleanup), sendertest.Error[int](errCleanup)}, {itStopped, itStopped},
	} {
		wait := &leaf{OnStart: sendertest.Inline, Result: test.wait}
		rec := new(sendertest.Recorder[int])
		run(t, sender.RetryAfter(sender.JustError[int](errLeaf),
			func(n int, _ error) (*leaf, bool) { return wait, n < 3 }), rec)
		if !in(rec.Result(), test.want) {
			t.Errorf("wait with %v: completed with %v, want %v", test.wait, rec.Result(), test.want)
		}
	}
}

func TestRetryDoesNotRecurse(t *testing.T) {
	const attempts = 100_000
	deepest := 0
	var pcs [200]uintptr
	rec := new(sendertest.Recorder[int])
	run(t, sender.Retry(sender.JustError[int](errLeaf), func(n int, _ error) bool {
		deepest = max(deepest, runtime.Callers(0, pcs[:]))
		return n < attempts
	}), rec)
	if !in(rec.Result(), theError) || deepest > 50 {
		t.Errorf("completed with %v, %d frames deep", rec.Result(), deepest)
	}
}

func TestRetryStopsBetweenAttempts(t *testing.T) {
	var source stop.Source
	rec := &sendertest.Recorder[int]{Stop: &source}
	attempts := 0
	run(t, sender.Retry(sender.JustError[int](errLeaf), func(n int, _ error) bool {
		if attempts = n; n == 10 {
			source.RequestStop()
		}
		return true
	}), rec)
	if !in(rec.Result(), itStopped) || attempts != 10 {
		t.Errorf("%v after %d attempts", rec.Result(), attempts)
	}
}
