package conformance

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// result is how an operation completed. Its value is a number that the subject makes of what the operation delivers.
type result = sendertest.Result[int]

// trace records the completions and items of an operation, and checks that they are allowed: it is the part of a
// receiver that does not depend on the type of the value.
type trace struct {
	s         *stage
	source    *stop.Source
	started   int
	results   []result // of each start
	last      result
	items     []int
	inline    bool   // it may complete inside Start
	elsewhere bool   // it may complete off the loop's thread
	onItem    func() // called inside SetNext
	onEnd     func() // called inside the completion
	arrived   signal // of each item
	over      signal // of each completion
}

func newTrace(s *stage) *trace {
	return &trace{s: s, source: new(stop.Source), arrived: s.newSignal(), over: s.newSignal()}
}

// begin calls start, which starts the operation, on the loop's thread.
func (tr *trace) begin(start func()) {
	tr.started++
	tr.s.inside++
	start()
	tr.s.inside--
}

func (tr *trace) complete(o result) {
	tr.judge(o)
	tr.results = append(tr.results, o)
	tr.last = o
	if len(tr.results) > tr.started {
		tr.s.t.Errorf("completion %d (%v) of %d starts", len(tr.results), o, tr.started)
	}
	if f := tr.onEnd; f != nil {
		tr.onEnd = nil
		f()
	}
	tr.over.raise()
}

func (tr *trace) next(n int) {
	tr.judge(sendertest.Value(n))
	if len(tr.results) >= tr.started {
		tr.s.t.Errorf("an item (%d) after the completion", n)
	}
	tr.items = append(tr.items, n)
	if f := tr.onItem; f != nil {
		f()
	}
	tr.arrived.raise()
}

// judge asserts that the receiver is called on the right thread, and not inside Start.
func (tr *trace) judge(o result) {
	t := tr.s.t
	if tr.s.thread() != tr.s.tid {
		if !tr.elsewhere {
			t.Errorf("%v arrived off the loop's thread", o)
		}
	} else if tr.s.inside != 0 && !tr.inline {
		t.Errorf("%v arrived inside Start or inside a stop request", o)
	}
	if o.Channel == sendertest.OnError && o.Err == nil {
		t.Error("SetError(nil)")
	}
}

// item waits for an item of a sequence.
func (tr *trace) item() {
	tr.s.t.Helper()
	tr.wait(tr.arrived)
}

// await waits for the completion.
func (tr *trace) await() {
	tr.s.t.Helper()
	tr.wait(tr.over)
}

func (tr *trace) wait(c signal) {
	tr.s.t.Helper()
	if !c.wait() {
		tr.s.t.Fatalf("it does not complete; the loop's counters are %+v", tr.s.loop.Stats())
	}
}

// StopToken returns the token of the operation's source.
func (tr *trace) StopToken() stop.Token { return tr.source.Token() }

// Scheduler returns nil.
func (tr *trace) Scheduler() sender.Scheduler { return nil }

// Value returns nil.
func (tr *trace) Value(any) any { return nil }

// receiver is a trace as a receiver of a T.
type receiver[T any] struct {
	*trace
	take func(T) int // takes ownership of the value and makes a number of it
}

func (r *receiver[T]) SetValue(v T) {
	n := 0
	if r.take != nil {
		n = r.take(v)
	}
	r.complete(sendertest.Value(n))
}

func (r *receiver[T]) SetError(err error) { r.complete(sendertest.Error[int](err)) }
func (r *receiver[T]) SetStopped()        { r.complete(sendertest.Stopped[int]()) }
func (r *receiver[T]) Env() sender.Env    { return r.trace }

// seqReceiver is a trace as a receiver of a sequence.
type seqReceiver[T any] struct {
	receiver[struct{}]
	takeItem func(T) int
}

func (r *seqReceiver[T]) SetNext(v T) { r.next(r.takeItem(v)) }

// receiveCount returns a receiver of a count.
func receiveCount(tr *trace) *receiver[int] {
	return &receiver[int]{tr, func(n int) int { return n }}
}

// receiveItems returns a receiver of a sequence. take takes ownership of each item, and makes a number of it.
func receiveItems[T any](tr *trace, take func(T) int) *seqReceiver[T] {
	return &seqReceiver[T]{receiver[struct{}]{trace: tr}, take}
}
