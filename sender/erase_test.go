package sender_test

import (
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
		s.Connect(&op, rec)
		rec.Starting()
		op.Start()
		if !in(rec.Result(), sendertest.Value(i)) {
			t.Errorf("sender %d completed with %v", i, rec.Result())
		}
	}
}
