package sender_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

type (
	leaf   = sendertest.Leaf[int]
	result = sendertest.Result[int]
)

var (
	errLeaf   = errors.New("leaf")
	theValue  = sendertest.Value(7)
	theError  = sendertest.Error[int](errLeaf)
	itStopped = sendertest.Stopped[int]()
)

// behaviours returns all leaves that complete in the end, if only after a stop request.
func behaviours(th *sendertest.Thread) []func() *leaf {
	var all []func() *leaf
	add := func(onStart, onStop sendertest.Action, x result) {
		all = append(all, func() *leaf { return &leaf{OnStart: onStart, OnStop: onStop, Result: x, Thread: th} })
	}
	for _, onStop := range []sendertest.Action{sendertest.Nothing, sendertest.Inline, sendertest.Later} {
		for _, x := range []result{theValue, theError, itStopped} {
			add(sendertest.Inline, onStop, x)
			add(sendertest.Later, onStop, x)
		}
		if onStop != sendertest.Nothing {
			add(sendertest.Nothing, onStop, itStopped)
		}
	}
	return all
}

func endless(l *leaf) bool { return l.OnStart == sendertest.Nothing }

func nameOf(l *leaf) string {
	actions := []string{"nothing", "inline", "later"}
	x := l.Result.String()
	if endless(l) {
		x = "nothing"
	}
	return fmt.Sprintf("%s %s, on stop %s", x, actions[l.OnStart], actions[l.OnStop])
}

// eachLeaf runs f for each behaviour of a leaf.
func eachLeaf(t *testing.T, f func(t *testing.T, l *leaf)) {
	th := sendertest.NewThread(t)
	for _, make := range behaviours(th) {
		l := make()
		t.Run(nameOf(l), func(t *testing.T) {
			f(t, l)
			if n := l.InFlight(); n != 0 {
				t.Errorf("%d children in flight at the end", n)
			}
		})
	}
}

// eachPair runs f for each two behaviours, on two threads.
func eachPair(t *testing.T, f func(t *testing.T, a, b *leaf)) {
	thA, thB := sendertest.NewThread(t), sendertest.NewThread(t)
	for _, makeA := range behaviours(thA) {
		for _, makeB := range behaviours(thB) {
			a, b := makeA(), makeB()
			t.Run(nameOf(a)+"; "+nameOf(b), func(t *testing.T) {
				f(t, a, b)
				if n := a.InFlight() + b.InFlight(); n != 0 {
					t.Errorf("%d children in flight at the end", n)
				}
			})
		}
	}
}

// in tells whether x is one of those, where errors match by errors.Is.
func in[T comparable](x sendertest.Result[T], those ...sendertest.Result[T]) bool {
	for _, y := range those {
		if x.Channel == y.Channel && x.Value == y.Value && (x.Err == y.Err || errors.Is(x.Err, y.Err)) {
			return true
		}
	}
	return false
}

// mayStop tells whether stop was requested, perhaps, before the completion.
func mayStop(p sendertest.Point) bool {
	return p != sendertest.InCompletion && p != sendertest.Never
}

// isStopped tells whether stop was requested before Start, for sure.
func isStopped(p sendertest.Point) bool {
	return p == sendertest.BeforeConnect || p == sendertest.BeforeStart
}

// run starts s with a new receiver and returns that.
func run[T, O any, S sender.Sender[T, O]](t *testing.T, s S, rec *sendertest.Recorder[T]) {
	t.Helper()
	rec.T = t
	op := new(O)
	start := s.Connect(op, rec)
	rec.Starting()
	start.Start()
}

// sink takes any completion.
type sink[T any] struct {
	n     int
	value T
}

func (s *sink[T]) SetValue(v T)   { s.n++; s.value = v }
func (s *sink[T]) SetError(error) { s.n++ }
func (s *sink[T]) SetStopped()    { s.n++ }
func (*sink[T]) Env() sender.Env  { return sender.EmptyEnv{} }

func inc(n int) int { return n + 1 }
