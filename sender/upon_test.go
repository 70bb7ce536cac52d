package sender_test

import (
	"errors"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

var replaced = sendertest.Value(99)

// mapped returns how an operation over l ends that changes what l completes with by f.
func mapped[T comparable](l *leaf, f func(result) sendertest.Result[T]) sendertest.Options[T] {
	return sendertest.Options[T]{
		Accept: func(p sendertest.Point, x sendertest.Result[T]) bool {
			for _, y := range outcomes(l, p) {
				if in(x, f(y)) {
					return true
				}
			}
			return false
		},
		Endless:     endless(l),
		Restartable: true,
	}
}

func TestUponError(t *testing.T) {
	eachLeaf(t, func(t *testing.T, l *leaf) {
		s := sender.UponError(l, func(err error) int {
			if !errors.Is(err, errLeaf) {
				t.Errorf("f was given %v", err)
			}
			return replaced.Value
		})
		sendertest.Check(t, s, mapped(l, func(x result) result {
			if x.Channel == sendertest.OnError {
				return replaced
			}
			return x
		}))
	})
}

func TestUponStopped(t *testing.T) {
	eachLeaf(t, func(t *testing.T, l *leaf) {
		s := sender.UponStopped(l, func() int { return replaced.Value })
		sendertest.Check(t, s, mapped(l, func(x result) result {
			if x.Channel == sendertest.OnStopped {
				return replaced
			}
			return x
		}))
	})
}

func TestIntoOptional(t *testing.T) {
	type optional = sender.Optional[int]
	eachLeaf(t, func(t *testing.T, l *leaf) {
		sendertest.Check(t, sender.IntoOptional(l), mapped(l, func(x result) sendertest.Result[optional] {
			switch x.Channel {
			case sendertest.OnValue:
				return sendertest.Value(optional{Value: x.Value, OK: true})
			case sendertest.OnError:
				return sendertest.Error[optional](x.Err)
			default:
				return sendertest.Value(optional{})
			}
		}))
	})
}

func TestIntoResult(t *testing.T) {
	type both = sender.Result[int]
	eachLeaf(t, func(t *testing.T, l *leaf) {
		sendertest.Check(t, sender.IntoResult(l), mapped(l, func(x result) sendertest.Result[both] {
			if x.Channel == sendertest.OnStopped {
				return sendertest.Stopped[both]()
			}
			return sendertest.Value(both{Value: x.Value, Err: x.Err})
		}))
	})
}

func TestResultGet(t *testing.T) {
	if v, err := (sender.Result[int]{Value: 1, Err: errLeaf}).Get(); v != 1 || !errors.Is(err, errLeaf) {
		t.Errorf("got %d, %v", v, err)
	}
}

func TestBulk(t *testing.T) {
	eachLeaf(t, func(t *testing.T, l *leaf) {
		next := 0 // the calls come one after another, and so do the rounds
		s := sender.Bulk(l, 3, func(i, v int) {
			if i != next || v != theValue.Value {
				t.Errorf("f(%d, %d), want f(%d, %d)", i, v, next, theValue.Value)
			}
			next = (next + 1) % 3
		})
		o := mapped(l, func(x result) result { return x })
		accept := o.Accept
		o.Accept = func(p sendertest.Point, x result) bool { return next == 0 && accept(p, x) }
		sendertest.Check(t, s, o)
	})
}

// A panic ends the calls.
func TestBulkPanics(t *testing.T) {
	calls := 0
	expectPanic(t, "Bulk", sender.Bulk(sender.Just(1), 5, func(i, _ int) {
		if calls++; i == 2 {
			panic(errLeaf)
		}
	}))
	if calls != 3 {
		t.Errorf("%d calls, want 3", calls)
	}
}

func TestFromFunc(t *testing.T) {
	for _, x := range []result{theValue, theError, itStopped} {
		s := sender.FromFunc(func() (int, error) {
			if x == itStopped {
				return 1, sender.ErrStopped
			}
			return x.Value, x.Err
		})
		sendertest.Check(t, s, accept(x))
	}
}
