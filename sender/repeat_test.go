package sender_test

import (
	"runtime"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

func TestRepeat(t *testing.T) {
	eachLeaf(t, func(t *testing.T, l *leaf) {
		never := l.Result.Channel == sendertest.OnValue || endless(l)
		if never && l.OnStart == sendertest.Inline {
			return // it would never return from Start, and be stopped from elsewhere only: see below
		}
		sendertest.Check(t, sender.Repeat(l), sendertest.Options[int]{
			Accept: func(p sendertest.Point, x result) bool {
				if isStopped(p) {
					return in(x, itStopped)
				}
				if x.Channel == sendertest.OnValue {
					return false
				}
				return in(x, l.Result) || mayStop(p) && in(x, itStopped)
			},
			Endless:     never,
			Restartable: true,
		})
	})
}

// A child that fails after some rounds of a certain behaviour.
func TestRepeatUntil(t *testing.T) {
	eachLeaf(t, func(t *testing.T, l *leaf) {
		const rounds = 5
		n := 0 // the rounds come one after another
		s := sender.RepeatUntil(l, func(v int) bool {
			if v != theValue.Value {
				t.Errorf("the predicate was given %d", v)
			}
			n++
			return n%rounds == 0
		})
		sendertest.Check(t, s, sendertest.Options[int]{
			Accept: func(p sendertest.Point, x result) bool {
				ok := in(x, l.Result) && (x.Channel != sendertest.OnValue || n%rounds == 0)
				n = 0
				return ok || mayStop(p) && in(x, itStopped)
			},
			Endless:     endless(l),
			Restartable: true,
			Rounds:      40,
		})
	})
}

// Iterations that complete inside Start do not grow the stack.
func TestRepeatDoesNotRecurse(t *testing.T) {
	const rounds = 100_000
	n, deepest := 0, 0
	var pcs [200]uintptr
	s := sender.RepeatUntil(sender.Then(sender.Just(1), inc), func(int) bool {
		n++
		deepest = max(deepest, runtime.Callers(0, pcs[:]))
		return n == rounds
	})
	if v, err := sender.SyncWait(t.Context(), s); v != 2 || err != nil || n != rounds {
		t.Errorf("%d, %v after %d rounds", v, err, n)
	}
	if deepest > 50 {
		t.Errorf("%d frames deep", deepest)
	}
}

// A stop request ends rounds that take no notice of it themselves.
func TestRepeatStopsBetweenRounds(t *testing.T) {
	var source stop.Source
	n := 0
	s := sender.Repeat(sender.Then(sender.Just(1), func(int) int {
		if n++; n == 10 {
			source.RequestStop()
		}
		return n
	}))
	rec := &sendertest.Recorder[int]{Stop: &source}
	run(t, s, rec)
	if x := rec.Result(); !in(x, itStopped) || n != 10 {
		t.Errorf("%v after %d rounds", x, n)
	}
}

// An operation that ends on another thread before the Start that began it has returned belongs to the receiver
// immediately: the frame of that Start no longer reads it.
func TestRepeatEndsUnderStart(t *testing.T) {
	th := sendertest.NewThread(t)
	for _, x := range []result{theValue, theError, itStopped} {
		child := &slowStart{leaf: &leaf{Result: x, OnStart: sendertest.Later, Thread: th}}
		s := sender.RepeatUntil(child, func(int) bool { return true })
		sendertest.Check(t, s, sendertest.Options[int]{
			Accept: func(p sendertest.Point, y result) bool { return in(y, x) || mayStop(p) && in(y, itStopped) },
		})
	}
}

// slowStart completes on its leaf's thread before its Start returns, if it is not started there.
type slowStart struct{ leaf *leaf }

type slowStartOp struct {
	s     *slowStart
	child sendertest.LeafOp[int]
}

func (s *slowStart) Connect(op *slowStartOp, r sender.Receiver[int]) sender.Operation {
	op.s = s
	s.leaf.Connect(&op.child, r)
	return op
}

func (op *slowStartOp) Start() {
	th := op.s.leaf.Thread
	op.child.Start()
	if !th.Here() {
		th.Wait()
	}
}
