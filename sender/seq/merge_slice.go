package seq

import (
	"sync/atomic"

	"github.com/reactord/reactord/sender"
)

// MergeSlice is Merge of any number of sources of one type, of which at most bound are in progress at once;
// all of them if it is 0 or less. They are started in order, each when there is room for it: where an earlier
// one completed, or where one is being started at that moment. Of none it completes with the value. The slice
// is read by Connect only.
//
// Connect allocates the sources' operation states, unless the operation state has had as many. However many
// sources complete at once, the stack does not grow.
//
// Source: Rx's merge with a maximum of concurrency; stdexec's exec::merge_each.
func MergeSlice[T, O any, P sender.Operation[O], S Sequence[T, O]](s []S, bound int) MergeSliceSequence[T, O, P, S] {
	return MergeSliceSequence[T, O, P, S]{s, bound}
}

// MergeSliceSequence is what MergeSlice returns.
type MergeSliceSequence[T, O any, P sender.Operation[O], S Sequence[T, O]] struct {
	s     []S
	bound int
}

// MergeSliceOp is the operation state of MergeSlice.
type MergeSliceOp[T, O any, P sender.Operation[O]] struct {
	merge   merge[T]
	sources []O
	bound   int
	next    int          // the first that has not been started; of whoever starts them
	room    atomic.Int32 // for how many more there is room
}

// Connect implements Sequence.
func (s MergeSliceSequence[T, O, P, S]) Connect(op *MergeSliceOp[T, O, P], r Receiver[T]) {
	op.merge.r = r
	n := len(s.s)
	if cap(op.sources) < n {
		op.sources = make([]O, n)
	}
	op.sources = op.sources[:n]
	if op.bound = n; s.bound > 0 {
		op.bound = min(s.bound, n)
	}
	for i := range s.s {
		s.s[i].Connect(&op.sources[i], (*mergeSlice[T, O, P])(op))
	}
}

// Completion implements sender.Completer: what holds for any S.
func (s *MergeSliceSequence[T, O, P, S]) Completion() sender.Completion {
	return sender.CompletionOf(new(S))
}

// Start implements sender.Operation.
func (op *MergeSliceOp[T, O, P]) Start() {
	op.next = 0
	op.room.Store(0)
	if op.merge.begin(len(op.sources) + 1) {
		op.run(op.bound)
		op.merge.group.Leave()
	}
}

// run starts as many sources as there is room for, unless somebody is doing so, who then does it.
func (op *MergeSliceOp[T, O, P]) run(room int) {
	if room == 0 || op.room.Add(int32(room)) != int32(room) {
		return
	}
	for {
		op.startNext()
		if op.room.Add(-1) == 0 {
			return
		}
	}
}

// startNext starts the next source, if there is one. If they are being stopped it lets all that are left
// count as completed.
func (op *MergeSliceOp[T, O, P]) startNext() {
	g := &op.merge.group
	for op.next < len(op.sources) {
		op.next++
		if !g.StopToken().StopRequested() {
			P(&op.sources[op.next-1]).Start()
			return
		}
		op.merge.arrive(outcome{end: stopped})
		g.Leave()
	}
}

// mergeSlice is the operation as the receiver of each source.
type mergeSlice[T, O any, P sender.Operation[O]] MergeSliceOp[T, O, P]

// left makes room for another source. Whoever starts sources counts as pending.
func (op *mergeSlice[T, O, P]) left() {
	g := &op.merge.group
	(*MergeSliceOp[T, O, P])(op).run(1)
	g.Leave()
}

func (op *mergeSlice[T, O, P]) SetNext(item T)     { op.merge.SetNext(item) }
func (op *mergeSlice[T, O, P]) SetValue(struct{})  { op.left() }
func (op *mergeSlice[T, O, P]) SetError(err error) { op.merge.arrive(outcome{failed, err}); op.left() }
func (op *mergeSlice[T, O, P]) SetStopped()        { op.merge.arrive(outcome{end: stopped}); op.left() }
func (op *mergeSlice[T, O, P]) Env() sender.Env    { return &op.merge.group }
