package seq_test

import (
	"context"
	"fmt"
	"maps"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
)

func ExampleForEach() {
	words := seq.Of("to", "be")
	_, err := sender.SyncWait(context.Background(), seq.ForEach(words, func(s string) error {
		fmt.Println(s)
		return nil
	}, nil))
	fmt.Println(err)
	// Output:
	// to
	// be
	// <nil>
}

func ExampleFrom() {
	keys := seq.From(maps.Keys(map[string]int{"one": 1}))
	fmt.Println(sender.SyncWait(context.Background(), seq.Collect(keys, nil)))
	// Output: [one] <nil>
}

func ExampleOf() {
	fmt.Println(sender.SyncWait(context.Background(), seq.Collect(seq.Of(1, 2, 3), nil)))
	// Output: [1 2 3] <nil>
}

func ExampleTransform() {
	lengths := seq.Transform(seq.Of("a", "bcd"), func(s string) int { return len(s) }, nil)
	fmt.Println(sender.SyncWait(context.Background(), seq.Collect(lengths, nil)))
	// Output: [1 3] <nil>
}

func ExampleFilter() {
	even := seq.Filter(count(6), func(n int) bool { return n%2 == 0 }, nil)
	fmt.Println(sender.SyncWait(context.Background(), seq.Collect(even, nil)))
	// Output: [2 4 6] <nil>
}

// A listener that accepts three connections and closes what it is given after that: the items are
// descriptors, so unused items are dropped.
func ExampleTake() {
	closeFd := func(fd int) { fmt.Println("close", fd) }
	// On a loop: three := seq.Take(listener.AcceptMany(reactor.Unlimited), 3, closeFd)
	three := seq.Take(eager(5), 3, closeFd)
	fmt.Println(sender.SyncWait(context.Background(), seq.Collect(three, closeFd)))
	// Output:
	// close 4
	// close 5
	// [1 2 3] <nil>
}

// eager is a count that does not stop.
type eager int

type eagerOp struct{ countOp }

func (e eager) Connect(op *eagerOp, r seq.Receiver[int]) sender.Operation {
	op.n, op.r = int(e), r
	return op
}

func (op *eagerOp) Start() {
	for i := range op.n {
		op.r.SetNext(i + 1)
	}
	op.r.SetValue(unit{})
}

func ExampleReduce() {
	sum := seq.Reduce(count(4), 0, func(sum, n int) int { return sum + n }, nil)
	fmt.Println(sender.SyncWait(context.Background(), sum))
	// Output: 10 <nil>
}

func ExampleCollect() {
	fmt.Println(sender.SyncWait(context.Background(), seq.Collect(count(3), nil)))
	// Output: [1 2 3] <nil>
}

func ExampleMerge() {
	fmt.Println(sender.SyncWait(context.Background(), seq.Collect(seq.Merge(count(2), count(3)), nil)))
	// Output: [1 2 1 2 3] <nil>
}

// Of a hundred sources three are in progress at any time.
func ExampleMergeSlice() {
	sources := make([]count, 100)
	for i := range sources {
		sources[i] = 2
	}
	n := seq.Reduce(seq.MergeSlice(sources, 3), 0, func(n, _ int) int { return n + 1 }, nil)
	fmt.Println(sender.SyncWait(context.Background(), n))
	// Output: 200 <nil>
}
