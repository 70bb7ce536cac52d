package seq

import "github.com/reactord/reactord/sender"

// MergeSlice does what [Merge] does with any number of sources of one type, of which at most limit are in flight; 0 or
// less: all of them. They are started in order. When one completes, the next is started on that thread. The stack does
// not grow, however many sources complete inside Start. Only Connect reads the slice.
//
// Completion: as Merge; with the value, inside Start, if there are no sources.
//
// Cancellation: as Merge. After a stop request no further source is started.
//
// Allocation: Connect allocates the operation states of the sources, unless the operation state has had as many
// before; and the queue of Merge.
//
// Source: Rx's merge with a maximum of concurrency; stdexec's exec::merge_each.
func MergeSlice[T, O any, S Sequence[T, O]](s []S, limit int) MergeSliceSequence[T, O, S] {
	return MergeSliceSequence[T, O, S]{s, limit}
}

// MergeSliceSequence is the sequence that [MergeSlice] returns.
type MergeSliceSequence[T, O any, S Sequence[T, O]] struct {
	s     []S
	limit int
}

// MergeSliceOp is the operation state of [MergeSliceSequence].
type MergeSliceOp[T, O any] struct {
	merge[T]
	receivers []mergeSource[T]
	sources   []O
	starts    []sender.Operation
	limit     int
	limiter   sender.Limiter
}

// Connect implements [Sequence].
func (s MergeSliceSequence[T, O, S]) Connect(op *MergeSliceOp[T, O], r Receiver[T]) sender.Operation {
	op.init(r)
	op.limit = s.limit
	n := len(s.s)
	if cap(op.sources) < n {
		op.receivers, op.sources, op.starts = make([]mergeSource[T], n), make([]O, n), make([]sender.Operation, n)
	}
	op.receivers, op.sources, op.starts = op.receivers[:n], op.sources[:n], op.starts[:n]
	for i := range s.s {
		x := op.receivers[i].init(&op.merge)
		x.credit.owner = (*limitedMerge[T, O])(op)
		op.starts[i] = x.connected(s.s[i].Connect(&op.sources[i], x))
	}
	return op
}

// CompletionBehavior implements [sender.CompletionDescriber]: what holds for any S.
func (s *MergeSliceSequence[T, O, S]) CompletionBehavior() sender.CompletionBehavior {
	return sender.CompletionBehaviorOf(new(S))
}

// Start implements [sender.Operation].
func (op *MergeSliceOp[T, O]) Start() {
	if op.begin(len(op.sources) + 1) {
		op.limiter.Start(&op.group, (*limitedMerge[T, O])(op), op.starts, op.limit)
	}
}

// limitedMerge is the operation as its Limiter and its sources see it.
type limitedMerge[T, O any] MergeSliceOp[T, O]

// OnSkip implements [sender.SkipHandler].
func (op *limitedMerge[T, O]) OnSkip() { op.stopOthers(stopped) }

func (op *limitedMerge[T, O]) arrive() { op.limiter.Arrive() }
