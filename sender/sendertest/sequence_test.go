package sendertest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/sender/stop"
)

// A flaw is a sequence of one item, delivered and completed inside Start, but for one breach of the
// contract.
type flaw string

type flawOp struct {
	flaw   flaw
	r      seq.Receiver[int]
	onStop stop.Callback
}

func (f flaw) Connect(op *flawOp, r seq.Receiver[int]) sender.Operation {
	op.flaw, op.r = f, r
	if f == "delivers in Connect" {
		r.SetNext(1)
	}
	return op
}

func (op *flawOp) OnStop() {}

func (op *flawOp) Start() {
	r, f := op.r, op.flaw
	switch f {
	case "leaves its callback behind":
		op.onStop.Register(r.Env().StopToken(), op)
	case "delivers nothing":
		r.SetValue(struct{}{})
		return
	}
	r.SetNext(1)
	r.SetValue(struct{}{})
	switch f {
	case "completes twice":
		r.SetValue(struct{}{})
	case "delivers afterwards":
		r.SetNext(2)
	}
}

// oneItem reports whether one item and a value were delivered, as a flaw should do.
func oneItem(_ sendertest.Point, items []int, x sendertest.Result[struct{}]) bool {
	return x.Channel == sendertest.OnValue && len(items) == 1 && items[0] == 1
}

func TestFlawsAreFound(t *testing.T) {
	for _, f := range []flaw{
		"delivers in Connect", "leaves its callback behind", "delivers nothing", "completes twice",
		"delivers afterwards",
	} {
		if found := expose(t, f); found == "" {
			t.Errorf("CheckSequence did not find a sequence that %s", f)
		}
	}
	if found := expose(t, ""); found != "" {
		t.Errorf("CheckSequence reported a correct sequence: %s", found)
	}
}

// expose returns what CheckSequence finds wrong with f.
func expose(t *testing.T, f flaw) (found string) {
	r := &report{TB: t}
	defer func() {
		if v := recover(); v != nil { // the overwritten storage was used
			r.Errorf("panic: %v", v)
		}
		found = r.text.String()
	}()
	sendertest.CheckSequence(r, f, sendertest.SequenceOptions[int]{Accept: oneItem, Restartable: true})
	return ""
}

// Whatever a sequence does while SetNext has not returned is found out by the receiver.
func TestNestedCallsAreFound(t *testing.T) {
	for name, nested := range map[string]func(rec *sendertest.SequenceRecorder[int]){
		"completed inside SetNext":         func(rec *sendertest.SequenceRecorder[int]) { rec.SetStopped() },
		"item 2 inside SetNext of another": func(rec *sendertest.SequenceRecorder[int]) { rec.SetNext(2) },
	} {
		r := &report{TB: t}
		rec := new(sendertest.SequenceRecorder[int])
		rec.T = r
		rec.Next = func(item int) {
			if item == 1 {
				nested(rec)
			}
		}
		rec.Starting()
		rec.SetNext(1)
		if !strings.Contains(r.text.String(), name) {
			t.Errorf("reported: %q, want %q", r.text.String(), name)
		}
	}
}

func TestSequenceLeafKeepsTheContract(t *testing.T) {
	th := sendertest.NewThread(t)
	for _, onStart := range []sendertest.Action{sendertest.Inline, sendertest.Later} {
		for _, onStop := range []sendertest.Action{sendertest.Nothing, sendertest.Inline, sendertest.Later} {
			for _, endless := range []bool{false, true} {
				if endless && onStop == sendertest.Nothing {
					continue
				}
				l := &sendertest.SequenceLeaf[int]{
					Items: func() []int { return []int{1, 2, 3} }, Late: func() []int { return []int{4} },
					Result: sendertest.Value(struct{}{}), OnStart: onStart, OnStop: onStop, Endless: endless, Thread: th,
				}
				sendertest.CheckSequence(t, l, sendertest.SequenceOptions[int]{
					Accept: func(p sendertest.Point, items []int, x sendertest.Result[struct{}]) bool {
						all := fmt.Sprint(items)
						if x.Channel == sendertest.OnStopped {
							return p != sendertest.Never && p != sendertest.InCompletion && strings.HasSuffix(all, "4]")
						}
						return x.Channel == sendertest.OnValue && all == "[1 2 3]"
					},
					Endless:     endless,
					Restartable: true,
					Rounds:      20,
				})
				if l.InFlight() != 0 || l.Starts() == 0 {
					t.Errorf("%d in flight of %d started", l.InFlight(), l.Starts())
				}
			}
		}
	}
}

func ExampleCheckSequence() {
	t := new(testing.T) // given to the test
	items := func(yield func(string) bool) { _ = yield("a") && yield("b") }
	sendertest.CheckSequence(t, seq.From(items), sendertest.SequenceOptions[string]{Restartable: true})
	fmt.Println(t.Failed())
	// Output: false
}

func ExampleSequenceLeaf() {
	l := &sendertest.SequenceLeaf[int]{
		Items: func() []int { return []int{1, 2} }, Result: sendertest.Value(struct{}{}), OnStart: sendertest.Inline,
	}
	var rec sendertest.SequenceRecorder[int]
	var op sendertest.SequenceLeafOp[int]
	l.Connect(&op, &rec)
	rec.Starting()
	op.Start()
	fmt.Println(rec.Items(), rec.Result())
	// Output: [1 2] value {}
}
