package sendertest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/sender/stop"
)

// SequenceRecorder is a [Recorder] for a sequence: it stores the items. It also reports an item before Starting was
// called or after the completion, an item inside SetNext of another, and a completion inside SetNext.
type SequenceRecorder[T any] struct {
	Recorder[struct{}]
	// Next is called inside SetNext. It may be nil.
	Next func(item T)

	inside atomic.Int32
	items  []T
}

// Starting must be called before Start, and before each further Start.
func (r *SequenceRecorder[T]) Starting() {
	r.items = nil
	r.Recorder.Starting()
}

// Items returns what was delivered since Starting. It must not be called while another thread may deliver items.
func (r *SequenceRecorder[T]) Items() []T { return r.items }

func (r *SequenceRecorder[T]) seen() string {
	return fmt.Sprintf("%v after the items %v", r.result, r.items)
}

// SetNext implements [seq.Receiver].
func (r *SequenceRecorder[T]) SetNext(item T) {
	if r.inside.Add(1) != 1 {
		r.T.Errorf("item %v inside SetNext of another", item)
	}
	if !r.started.Load() {
		r.T.Errorf("item %v before Start", item)
	}
	if r.Completed() {
		r.T.Errorf("item %v after the completion", item)
	}
	r.items = append(r.items, item)
	if r.Next != nil {
		r.Next(item)
	}
	r.inside.Add(-1)
}

// outside reports a completion inside SetNext.
func (r *SequenceRecorder[T]) outside() {
	if r.inside.Load() != 0 {
		r.T.Errorf("completed inside SetNext")
	}
}

// SetValue implements [seq.Receiver].
func (r *SequenceRecorder[T]) SetValue(v struct{}) { r.outside(); r.Recorder.SetValue(v) }

// SetError implements [seq.Receiver].
func (r *SequenceRecorder[T]) SetError(err error) { r.outside(); r.Recorder.SetError(err) }

// SetStopped implements [seq.Receiver].
func (r *SequenceRecorder[T]) SetStopped() { r.outside(); r.Recorder.SetStopped() }

// InNext is one more [Point] at which [CheckSequence] requests stop: inside the first SetNext.
const InNext = Never + 1

// SequenceOptions say how [CheckSequence] checks a sequence. The zero SequenceOptions are for a sequence that
// completes by itself and can be started on any thread.
type SequenceOptions[T any] struct {
	// Accept reports whether these items and x are correct when stop was requested at p. nil: they always are.
	Accept func(p Point, items []T, x Result[struct{}]) bool
	// Do is as in Options.
	Do func(f func())
	// Endless says that the sequence does not complete before stop is requested.
	Endless bool
	// Restartable says that the operation may be started again without another Connect.
	Restartable bool
	// Rounds is how often each combination is tried. 0: 4 times.
	Rounds int
	// Deadline and Linger are as in Options.
	Deadline, Linger time.Duration
}

// CheckSequence does what [Check] does, for a sequence.
func CheckSequence[T, O any, S seq.Sequence[T, O]](t testing.TB, s S, o SequenceOptions[T]) {
	t.Helper()
	var rec *SequenceRecorder[T] // the current receiver
	c := &checker[struct{}, O]{t: t, claim: sender.CompletionBehaviorOf(&s), o: Options[struct{}]{
		Do: o.Do, Endless: o.Endless, Restartable: o.Restartable, Rounds: o.Rounds, Deadline: o.Deadline, Linger: o.Linger,
		Accept: func(p Point, x Result[struct{}]) bool { return o.Accept == nil || o.Accept(p, rec.Items(), x) },
	}}
	c.connect = func(r *round, then func(recorder[struct{}], Result[struct{}])) recorder[struct{}] {
		next := &SequenceRecorder[T]{Recorder: Recorder[struct{}]{T: r, Stop: &r.source, Key: r}}
		next.Then = func(x Result[struct{}]) { then(next, x) }
		if r.point == InNext {
			next.Next = func(T) { r.source.RequestStop() }
		}
		rec = next
		c.start = s.Connect(c.op, next)
		return next
	}
	c.check(InNext)
}

// SequenceLeaf is a sequence that is controlled by the test. It is used by pointer, and may be in flight many times
// at the same time. After a stop request it delivers Late, and completes stopped. If OnStop is Nothing it ignores
// stop requests.
//
// Allocation: its operations allocate.
type SequenceLeaf[T any] struct {
	Items   func() []T // what it delivers; called once for each Start
	Late    func() []T // what it delivers after a stop request; may be nil
	Result  Result[struct{}]
	OnStart Action  // Inline: all of it inside Start; Later: on the thread, one item at a time
	Endless bool    // after the items it waits for a stop request
	OnStop  Action  // Nothing: stop requests are ignored
	Thread  *Thread // for Later
	Emit    func(T) // is called for each item before it is delivered; may be nil

	inFlight, starts atomic.Int32
}

// SequenceLeafOp is the operation state of a [SequenceLeaf].
type SequenceLeafOp[T any] struct {
	leaf *SequenceLeaf[T]
	r    seq.Receiver[T]
}

// Connect implements [seq.Sequence].
func (l *SequenceLeaf[T]) Connect(op *SequenceLeafOp[T], r seq.Receiver[T]) sender.Operation {
	op.leaf, op.r = l, r
	return op
}

// InFlight returns how many operations have been started and have not completed.
func (l *SequenceLeaf[T]) InFlight() int { return int(l.inFlight.Load()) }

// Starts returns how many operations have been started.
func (l *SequenceLeaf[T]) Starts() int { return int(l.starts.Load()) }

// Start implements [sender.Operation].
func (op *SequenceLeafOp[T]) Start() {
	l := op.leaf
	run := &sequenceRun[T]{leaf: l, r: op.r, items: slices.Clone(l.Items())}
	l.inFlight.Add(1)
	l.starts.Add(1)
	if l.OnStop != Nothing {
		run.onStop.Register(op.r.Env().StopToken(), run)
	}
	switch l.OnStart {
	case Inline:
		for run.step() {
		}
	case Later:
		l.Thread.Do(run.steps)
	}
}

// sequenceRun is one operation in flight. It is not part of the SequenceLeafOp, for the same reason as leafRun.
type sequenceRun[T any] struct {
	leaf   *SequenceLeaf[T]
	r      seq.Receiver[T]
	onStop stop.Callback

	mu       sync.Mutex
	items    []T
	busy     bool // a step is delivering
	stopping bool
	ended    bool
}

// OnStop completes the run: immediately, after the step that is running, or on the thread.
func (run *sequenceRun[T]) OnStop() {
	run.mu.Lock()
	run.stopping = true
	if l := run.leaf; l.Late != nil {
		run.items = slices.Clone(l.Late())
	} else {
		run.items = nil
	}
	run.mu.Unlock()
	if run.leaf.OnStop == Later {
		run.leaf.Thread.Do(run.steps)
	} else {
		for run.step() {
		}
	}
}

// steps calls step until it returns false. Each step is separate work, so that other work runs in between.
func (run *sequenceRun[T]) steps() {
	if run.step() {
		run.leaf.Thread.Do(run.steps)
	}
}

// step delivers one item, or completes the run if no item is left. It returns false if the caller has nothing more to
// do.
func (run *sequenceRun[T]) step() bool {
	run.mu.Lock()
	if run.busy || run.ended {
		run.mu.Unlock()
		return false
	}
	if len(run.items) == 0 {
		if run.leaf.Endless && !run.stopping {
			run.mu.Unlock()
			return false
		}
		run.ended = true
		x := run.leaf.Result
		if run.stopping {
			x = Stopped[struct{}]()
		}
		run.mu.Unlock()
		run.onStop.Deregister()
		run.leaf.inFlight.Add(-1)
		x.Deliver(run.r)
		return false
	}
	item := run.items[0]
	run.items = run.items[1:]
	run.busy = true
	run.mu.Unlock()
	if emit := run.leaf.Emit; emit != nil {
		emit(item)
	}
	run.r.SetNext(item)
	run.mu.Lock()
	run.busy = false
	run.mu.Unlock()
	return true
}
