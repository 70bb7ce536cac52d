package sendertest_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

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

func (f fault) Connect(op *faultOp, r sender.Receiver[int]) sender.Operation {
	op.fault, op.r, op.started = f, r, false
	if f == "completes in Connect" {
		r.SetValue(1)
	}
	return op
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

// A wrong is a sender that breaks the contract where a fault could not: on another thread, or in what it says of
// itself.
type wrong struct {
	how string
	th  *sendertest.Thread
}

type wrongOp struct {
	wrong
	r      sender.Receiver[int]
	onStop stop.Callback
	n      int
}

func (w wrong) Connect(op *wrongOp, r sender.Receiver[int]) sender.Operation {
	op.wrong, op.r = w, r
	return op
}

func (w *wrong) CompletionBehavior() sender.CompletionBehavior {
	switch {
	case strings.HasPrefix(w.how, "claims to be inline"):
		return sender.Inline
	case strings.HasPrefix(w.how, "claims to be affine"):
		return sender.Affine
	}
	return sender.Anywhere
}

func (op *wrongOp) OnStop() {}

func (op *wrongOp) Start() {
	r, th := op.r, op.th
	env := r.Env()
	switch op.how {
	case "writes to its state after the completion":
		r.SetValue(1)
		op.n = 1
	case "writes to its state after the completion, on a thread":
		th.Do(func() { r.SetValue(1); op.n = 1 })
	case "writes to its state long after the completion":
		r.SetValue(1)
		th.Do(func() { op.n = 1 })
	case "keeps the environment and asks for the stop token":
		r.SetValue(1)
		env.StopToken()
	case "keeps the environment and asks for the scheduler":
		r.SetValue(1)
		env.Scheduler()
	case "keeps the environment and asks for a value":
		r.SetValue(1)
		env.Value(1)
	case "claims to be inline, and is not", "claims to be affine, and is not":
		th.Do(func() { r.SetValue(1) })
	case "claims to be inline, and completes in its stop handler":
		if env.StopToken().StopRequested() {
			r.SetStopped()
			return
		}
		op.onStop.Register(env.StopToken(), (*inHandler)(op))
	case "completes again, later":
		r.SetValue(1)
		th.Do(func() { time.Sleep(2 * time.Millisecond); r.SetStopped() })
	case "never completes":
	case "loses a stop request":
		if env.StopToken().StopRequested() {
			r.SetStopped()
		}
	default:
		th.Do(func() { r.SetValue(1) })
	}
}

type inHandler wrongOp

func (op *inHandler) OnStop() { op.onStop.Deregister(); op.r.SetStopped() }

func TestWrongsAreFound(t *testing.T) {
	for how, want := range map[string]string{
		"writes to its state after the completion":               "wrote to the operation state",
		"writes to its state after the completion, on a thread":  "wrote to the operation state",
		"writes to its state long after the completion":          "wrote to the operation state",
		"keeps the environment and asks for the stop token":      "asked for its stop token after",
		"keeps the environment and asks for the scheduler":       "asked for its scheduler after",
		"keeps the environment and asks for a value":             "asked for its value of a key after",
		"claims to be inline, and is not":                        "says that it completes inline",
		"claims to be inline, and completes in its stop handler": "says that it completes inline",
		"claims to be affine, and is not":                        "says that it completes where it is started",
		"completes again, later":                                 "storage reused afterwards: completion 2 of one Start",

		"never completes": "stop before Connect, storage reused afterwards: did not complete within",

		"loses a stop request": "did not complete within",
		"":                     "",
	} {
		t.Run(how, func(t *testing.T) {
			if sendertest.RaceDetector && strings.Contains(how, "writes") {
				t.Skip("the race detector finds it")
			}
			r, here := &report{TB: t}, sendertest.NewThread(t)
			w := wrong{how, sendertest.NewThread(t)}
			o := sendertest.Options[int]{Deadline: 100 * time.Millisecond, Linger: 50 * time.Millisecond}
			if strings.HasPrefix(how, "claims to be affine") {
				o.Do = here.Do
			}
			o.Endless = strings.HasSuffix(how, "handler") || strings.HasPrefix(how, "loses")
			sendertest.Check(r, w, o)
			r.mu.Lock() // what comes later is not found
			found := r.text.String()
			r.mu.Unlock()
			if !strings.Contains(found, want) || want == "" && found != "" {
				t.Errorf("want %q, found %q", want, found)
			}
			w.th.Wait()
		})
	}
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
			t.Errorf("Check did not find a sender that %s", f)
		}
	}
	if found := blame(t, ""); found != "" {
		t.Errorf("Check reported a correct sender: %s", found)
	}
}

// blame returns what Check finds wrong with f.
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
