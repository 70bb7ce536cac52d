package sendertest_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// report is a testing.TB that remembers what is reported to it.
type report struct {
	testing.TB
	mu   sync.Mutex
	text strings.Builder
}

func (r *report) Helper() {}

func (r *report) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.text, format+"\n", args...)
}

// A fault is a sender that completes inside Start but for one breach of the contract.
type fault string

type faultOp struct {
	fault   fault
	r       sender.Receiver[int]
	onStop  stop.Callback
	started bool
}

func (f fault) Connect(op *faultOp, r sender.Receiver[int]) {
	op.fault, op.r, op.started = f, r, false
	if f == "completes in Connect" {
		r.SetValue(1)
	}
}

func (op *faultOp) OnStop() {}

func (op *faultOp) Start() {
	r, f := op.r, op.fault
	switch f {
	case "completes twice":
		r.SetValue(1)
		r.SetStopped()
		return
	case "error and value":
		r.SetError(errors.New("first"))
	case "nil error":
		r.SetError(nil)
		return
	case "asks Env afterwards":
		r.SetValue(1)
		r.Env()
		return
	case "works once":
		if op.started {
			r.SetValue(2)
			return
		}
		op.started = true
	case "leaves its callback behind":
		op.onStop.Register(r.Env().StopToken(), op)
	}
	r.SetValue(1)
}

func one(_ sendertest.Point, x sendertest.Result[int]) bool {
	return x.Channel == sendertest.OnValue && x.Value == 1
}

func TestFaultsAreFound(t *testing.T) {
	for _, f := range []fault{
		"completes in Connect", "completes twice", "error and value", "nil error", "asks Env afterwards", "works once",
		"leaves its callback behind",
	} {
		if found := blame(t, f); found == "" {
			t.Errorf("a sender that %s was not found out", f)
		}
	}
	if found := blame(t, ""); found != "" {
		t.Errorf("a good sender was blamed: %s", found)
	}
}

// blame is what Check finds wrong with f.
func blame(t *testing.T, f fault) (found string) {
	r := &report{TB: t}
	defer func() {
		if v := recover(); v != nil { // the overwritten storage was used
			r.Errorf("panic: %v", v)
		}
		found = r.text.String()
	}()
	sendertest.Check(r, f, sendertest.Options[int]{Accept: one, Restartable: true})
	return ""
}

func TestWrongThreadIsFound(t *testing.T) {
	there, here := sendertest.NewThread(t), sendertest.NewThread(t)
	r := &report{TB: t}
	sendertest.Check(r, &sendertest.Leaf[int]{OnStart: sendertest.Later, Thread: there, Result: sendertest.Value(1)},
		sendertest.Options[int]{Do: here.Do, Where: here.Here})
	there.Wait()
	if !strings.Contains(r.text.String(), "wrong thread") {
		t.Errorf("reported: %s", r.text.String())
	}
}

func TestWrongResultSaysWhere(t *testing.T) {
	r := &report{TB: t}
	sendertest.Check(r, sender.Just(2), sendertest.Options[int]{Accept: one, Rounds: 1})
	for p := sendertest.BeforeConnect; p <= sendertest.Never; p++ {
		if want := "stop " + p.String() + ", "; !strings.Contains(r.text.String(), want) {
			t.Errorf("nothing is reported for %q in:\n%s", want, r.text.String())
		}
	}
}

func TestLeafKeepsTheContract(t *testing.T) {
	th := sendertest.NewThread(t)
	actions := []sendertest.Action{sendertest.Nothing, sendertest.Inline, sendertest.Later}
	for _, onStart := range actions {
		for _, onStop := range actions {
			if onStart == sendertest.Nothing && onStop == sendertest.Nothing {
				continue
			}
			l := &sendertest.Leaf[int]{OnStart: onStart, OnStop: onStop, Thread: th, Result: sendertest.Value(1)}
			sendertest.Check(t, l, sendertest.Options[int]{
				Accept: func(p sendertest.Point, x sendertest.Result[int]) bool {
					asked := p != sendertest.Never && p != sendertest.InCompletion
					return one(p, x) || asked && onStop != sendertest.Nothing && x.Channel == sendertest.OnStopped
				},
				Endless:     onStart == sendertest.Nothing,
				Restartable: true,
				Rounds:      20,
			})
			if l.InFlight() != 0 || l.Starts() == 0 {
				t.Errorf("%d in flight of %d started", l.InFlight(), l.Starts())
			}
		}
	}
}

func ExampleLeaf() {
	l := &sendertest.Leaf[string]{Result: sendertest.Value("done")}
	rec := new(sendertest.Recorder[string])
	var op sendertest.LeafOp[string]
	l.Connect(&op, rec)
	rec.Starting()
	op.Start()
	fmt.Println(rec.Result(), l.InFlight())
	l.Finish()
	fmt.Println(rec.Result(), l.InFlight())
	// Output:
	// none 1
	// value done 0
}

func ExampleCheck() {
	t := new(testing.T) // given to the test
	sendertest.Check(t, sender.Just(1), sendertest.Options[int]{Restartable: true})
	fmt.Println(t.Failed())
	// Output: false
}
