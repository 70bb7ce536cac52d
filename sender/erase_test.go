package sender_test

import (
	"strings"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

func TestErase(t *testing.T) {
	eachLeaf(t, func(t *testing.T, l *leaf) {
		sendertest.Check(t, sender.Erase(l), mapped(l, func(x result) result { return x }))
	})
	checkEnv(t, "Any", sender.Erase(ask{}), true)
}

// One operation state serves erased senders of any type, one after another.
func TestAnyOpIsReused(t *testing.T) {
	var op sender.AnyOp[int]
	for i, s := range []sender.Any[int]{
		sender.Erase(sender.Just(0)), sender.Erase(sender.Then(sender.Just(0), inc)), sender.Erase(sender.Just(2)),
	} {
		rec := &sendertest.Recorder[int]{T: t}
		start := s.Connect(&op, rec)
		rec.Starting()
		start.Start()
		if !in(rec.Result(), sendertest.Value(i)) {
			t.Errorf("sender %d completed with %v", i, rec.Result())
		}
	}
}

// Once it has been connected to a sender of a type, the state takes others of it without an allocation.
func TestConnectAllocatesOnce(t *testing.T) {
	var op sender.AnyOp[int]
	r := new(sink[int])
	if n := testing.AllocsPerRun(100, func() {
		sender.Connect(&op, sender.Sequence(sender.Just(1), sender.Then(sender.Just(2), inc)), r).Start()
	}); n != 0 || r.value != 3 {
		t.Errorf("%v allocations, and the value %d", n, r.value)
	}
}

// What cannot be work is refused when it is made or connected, not when it runs.
func TestNoWorkIsLoud(t *testing.T) {
	for what, f := range map[string]func(){
		"the zero Any": func() { sender.Any[int]{}.Connect(new(sender.AnyOp[int]), new(sink[int])) },
		"Call":         func() { sender.Call[int](nil) },
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.HasPrefix(text, "sender: ") {
					t.Errorf("%s: panic %q", what, text)
				}
			}()
			f()
		}()
	}
}
