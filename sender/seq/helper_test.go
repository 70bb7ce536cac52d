package seq_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/seq"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		println(err.Error())
		code = 1
	}
	os.Exit(code)
}

type unit = struct{}

var errLeaf = errors.New("leaf")

// item is a resource: it must be released, once.
type item struct {
	n    int
	gone atomic.Int32
}

func (i *item) String() string { return fmt.Sprint(i.n) }

// ledger knows of every item that a source has delivered.
type ledger struct {
	mu      sync.Mutex
	emitted []*item
	dropped int
}

func (l *ledger) emit(i *item) {
	l.mu.Lock()
	l.emitted = append(l.emitted, i)
	l.mu.Unlock()
}

// drop drops an item, for adaptors.
func (l *ledger) drop(i *item) {
	l.mu.Lock()
	l.dropped++
	l.mu.Unlock()
	i.gone.Add(1)
}

// take releases items that were received.
func take(items ...*item) {
	for _, i := range items {
		i.gone.Add(1)
	}
}

// audit expects every item to be gone, once.
func (l *ledger) audit(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.emitted) == 0 {
		t.Errorf("nothing was delivered at all")
	}
	for _, i := range l.emitted {
		if n := i.gone.Load(); n != 1 {
			t.Errorf("item %d was released %d times", i.n, n)
		}
	}
}

type leaf = sendertest.SequenceLeaf[*item]

// of makes the items from..to.
func of(from, to int) func() []*item {
	return func() (items []*item) {
		for n := from; n <= to; n++ {
			items = append(items, &item{n: n})
		}
		return items
	}
}

// newLeaf returns a source of the items 1 to 5, and 8 and 9 after a stop request.
func (l *ledger) newLeaf(th *sendertest.Thread) *leaf {
	return &leaf{
		Items: of(1, 5), Late: of(8, 9), Emit: l.emit, Thread: th,
		OnStart: sendertest.Inline, OnStop: sendertest.Inline, Result: sendertest.Value(unit{}),
	}
}

// eachLeaf runs f for every behaviour of a source, and audits its items.
func eachLeaf(t *testing.T, f func(t *testing.T, s *leaf, l *ledger)) {
	actions := []string{"nothing", "inline", "later"}
	th := sendertest.NewThread(t)
	for _, onStart := range []sendertest.Action{sendertest.Inline, sendertest.Later} {
		for _, onStop := range []sendertest.Action{sendertest.Nothing, sendertest.Inline, sendertest.Later} {
			for _, x := range []sendertest.Result[unit]{sendertest.Value(unit{}), sendertest.Error[unit](errLeaf),
				sendertest.Stopped[unit](), {}} {
				endless := x.Channel == sendertest.None
				if endless && onStop == sendertest.Nothing {
					continue
				}
				name := fmt.Sprintf("%s, %v, on stop %s", actions[onStart], x, actions[onStop])
				t.Run(name, func(t *testing.T) {
					l := new(ledger)
					s := l.newLeaf(th)
					s.OnStart, s.OnStop, s.Result, s.Endless = onStart, onStop, x, endless
					f(t, s, l)
					l.audit(t)
					if n := s.InFlight(); n != 0 {
						t.Errorf("%d sources in flight at the end", n)
					}
				})
			}
		}
	}
}

// mayStop tells whether stop was requested, perhaps, before the completion.
func mayStop(p sendertest.Point) bool { return p != sendertest.InCompletion && p != sendertest.Never }

// isStopped tells whether stop was requested before Start, for sure.
func isStopped(p sendertest.Point) bool {
	return p == sendertest.BeforeConnect || p == sendertest.BeforeStart
}

// options check items with accept, and release them.
func options(
	s *leaf, accept func(p sendertest.Point, items []*item, x sendertest.Result[unit]) bool,
) sendertest.SequenceOptions[*item] {
	return sendertest.SequenceOptions[*item]{
		Accept: func(p sendertest.Point, items []*item, x sendertest.Result[unit]) bool {
			take(items...)
			if isStopped(p) && s.Result.Channel != sendertest.None && x.Channel != sendertest.OnStopped {
				return false
			}
			return accept(p, items, x)
		},
		Endless: s.Endless, Restartable: true, Rounds: 5,
	}
}

// passedOn tells whether x is what the source completed with.
func passedOn(s *leaf, p sendertest.Point, x sendertest.Result[unit]) bool {
	return x == s.Result || mayStop(p) && x.Channel == sendertest.OnStopped
}

// inOrder tells whether items are 1, 2, 3, …, and then 8 and 9 if stopped.
func inOrder(items []*item, stopped bool) bool {
	next := 1
	for _, i := range items {
		if stopped && i.n == 8 {
			next = 8
		}
		if i.n != next {
			return false
		}
		next++
	}
	return true
}

// sum is a receiver that allocates nothing, of sequences and of senders.
type sum struct {
	sender.EmptyEnv
	total, completions int
}

func (s *sum) SetNext(n int)   { s.total += n }
func (s *sum) SetValue(unit)   { s.completions++ }
func (s *sum) SetError(error)  { s.completions++ }
func (s *sum) SetStopped()     { s.completions++ }
func (s *sum) Env() sender.Env { return s }

// count is the sequence 1 to its value, which allocates nothing.
type count int

type countOp struct {
	n int
	r seq.Receiver[int]
}

func (c count) Connect(op *countOp, r seq.Receiver[int]) sender.Operation {
	op.n, op.r = int(c), r
	return op
}

func (op *countOp) Start() {
	token := op.r.Env().StopToken()
	for i := 1; i <= op.n; i++ {
		if token.StopRequested() {
			op.r.SetStopped()
			return
		}
		op.r.SetNext(i)
	}
	op.r.SetValue(unit{})
}
