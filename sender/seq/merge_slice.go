package seq

import (
	"sync/atomic"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
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
func MergeSlice[T, O any, S Sequence[T, O]](s []S, bound int) MergeSliceSequence[T, O, S] {
	return MergeSliceSequence[T, O, S]{s, bound}
}

// MergeSliceSequence is what MergeSlice returns.
type MergeSliceSequence[T, O any, S Sequence[T, O]] struct {
	s     []S
	bound int
}

// MergeSliceOp is the operation state of MergeSlice.
type MergeSliceOp[T, O any] struct {
	merge[T]
	receivers []mergeSource[T]
	sources   []O
	starts    []sender.Operation
	bound     int
	next      int          // the first that has not been started; of whoever starts them
	room      atomic.Int32 // for how many more there is room
}

// Connect implements Sequence.
func (s MergeSliceSequence[T, O, S]) Connect(op *MergeSliceOp[T, O], r Receiver[T]) sender.Operation {
	op.prepare(r)
	n := len(s.s)
	if cap(op.sources) < n {
		op.receivers, op.sources, op.starts = make([]mergeSource[T], n), make([]O, n), make([]sender.Operation, n)
	}
	op.receivers, op.sources, op.starts = op.receivers[:n], op.sources[:n], op.starts[:n]
	if op.bound = n; s.bound > 0 {
		op.bound = min(s.bound, n)
	}
	for i := range s.s {
		x := op.receivers[i].of(&op.merge)
		x.account.owner = (*mergeSlice[T, O])(op)
		op.starts[i] = x.connected(s.s[i].Connect(&op.sources[i], x))
	}
	return op
}

// CompletionBehavior implements sender.CompletionDescriber: what holds for any S.
func (s *MergeSliceSequence[T, O, S]) CompletionBehavior() sender.CompletionBehavior {
	return sender.CompletionBehaviorOf(new(S))
}

// Start implements sender.Operation.
func (op *MergeSliceOp[T, O]) Start() {
	op.next = 0
	op.room.Store(0)
	if op.merge.begin(len(op.sources) + 1) {
		op.startAndLeave(op.bound)
	}
}

// startAndLeave is run and then Leave.
func (op *MergeSliceOp[T, O]) startAndLeave(room int) {
	returned := false
	defer aftergoexit.Run(&returned, op.merge.group.Leave)
	op.run(room)
	returned = true
	op.merge.group.Leave()
}

// run starts as many sources as there is room for, unless somebody is doing so, who then does it.
func (op *MergeSliceOp[T, O]) run(room int) {
	if room == 0 || op.room.Add(int32(room)) != int32(room) {
		return
	}
	op.startAll()
}

// startAll starts sources while there is room, also if a function of the receiver's ends this frame by
// runtime.Goexit.
func (op *MergeSliceOp[T, O]) startAll() {
	returned := false
	defer aftergoexit.Run(&returned, func() {
		if op.room.Add(-1) != 0 {
			op.startAll()
		}
	})
	for {
		op.startNext()
		if op.room.Add(-1) == 0 {
			returned = true
			return
		}
	}
}

// startNext starts the next source, if there is one. If they are being stopped it lets all that are left
// count as completed.
func (op *MergeSliceOp[T, O]) startNext() {
	g := &op.merge.group
	for op.next < len(op.sources) {
		op.next++
		if !g.StopToken().StopRequested() {
			op.starts[op.next-1].Start()
			return
		}
		op.merge.arrive(outcome{end: stopped})
		g.Leave()
	}
}

// mergeSlice is the operation as what its sources leave.
type mergeSlice[T, O any] MergeSliceOp[T, O]

// leave makes room for another source. Whoever starts sources counts as pending.
func (op *mergeSlice[T, O]) leave() { (*MergeSliceOp[T, O])(op).startAndLeave(1) }
