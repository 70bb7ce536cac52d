//go:build reactordebug

package sender

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/reactord/reactord/sender/stop"
)

// everyOrder runs threads in every order that the steps of the protocols allow. world makes one again: what its threads
// do, and what must hold when all of them have returned. A thread runs alone from one step to the next, or until it
// waits for another one.
//
// This is the code itself, not a model of it: step marks where another thread may come in between.
func everyOrder(t *testing.T, world func(t *testing.T) (threads []func(), check func())) {
	t.Helper()
	if testing.Short() {
		t.Skip("many orders")
	}
	synctest.Test(t, func(t *testing.T) {
		orders := 0
		for path := []choice(nil); ; orders++ {
			var next []choice
			threads, check := world(t)
			next = play(t, threads, path)
			check()
			if t.Failed() {
				t.Fatalf("in order %d: %v", orders, next)
			}
			for len(next) > 0 && next[len(next)-1].took == next[len(next)-1].of-1 {
				next = next[:len(next)-1]
			}
			if len(next) == 0 {
				break
			}
			next[len(next)-1].took++
			path = next
		}
		t.Logf("%d orders", orders+1)
	})
}

// choice says which of the threads that were ready ran.
type choice struct{ took, of int }

// play runs threads in the order given by path, and beyond it in the first that there is.
func play(t *testing.T, threads []func(), path []choice) (taken []choice) {
	var mu sync.Mutex
	gates := make([]chan bool, len(threads)) // of those that are at a step
	numbers := make(map[string]int)          // of the goroutines
	onStep = func() {
		c := make(chan bool)
		mu.Lock()
		gates[numbers[goroutineName()]] = c
		mu.Unlock()
		<-c
	}
	defer func() { onStep = nil }()
	var wg sync.WaitGroup
	for i, f := range threads {
		wg.Go(func() {
			mu.Lock()
			numbers[goroutineName()] = i
			mu.Unlock()
			step()
			f()
		})
	}
	for {
		synctest.Wait()
		var ready []int
		for i, c := range gates {
			if c != nil {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 {
			break
		}
		c := choice{0, len(ready)}
		if len(taken) < len(path) {
			c = path[len(taken)]
			if c.of != len(ready) {
				t.Fatalf("%d threads are ready, and were %d the last time", len(ready), c.of)
			}
		}
		taken = append(taken, c)
		next := gates[ready[c.took]]
		gates[ready[c.took]] = nil
		close(next)
	}
	wg.Wait()
	return taken
}

// goroutineName returns the name of the calling goroutine.
func goroutineName() string {
	var buf [64]byte
	name, _, _ := strings.Cut(string(buf[:runtime.Stack(buf[:], false)]), "[")
	return name
}

// stepLeaf is a sender that completes when the test calls end, or when stop is requested.
type stepLeaf struct {
	stops   bool
	end     func(Completion[int]) // of the operation in flight
	started chan bool             // nil, or told of each start
	ended   bool                  // the operation in flight has
}

type stepLeafOp struct {
	leaf   *stepLeaf
	r      Receiver[int]
	onStop stop.Callback
	once   *sync.Once
}

func (l *stepLeaf) Connect(op *stepLeafOp, r Receiver[int]) Operation {
	*op = stepLeafOp{leaf: l, r: r}
	return op
}

func (op *stepLeafOp) Start() {
	op.leaf.ended = false
	once := new(sync.Once) // shared with calls of end that come too late
	op.once = once
	op.leaf.end = func(x Completion[int]) {
		step()
		first := false
		once.Do(func() { first = true })
		if first {
			op.onStop.Deregister()
			step()
			op.leaf.ended = true
			x.Deliver(op.r)
		}
	}
	if op.leaf.stops {
		op.onStop.Register(op.r.Env().StopToken(), op)
	}
	if op.leaf.started != nil {
		op.leaf.started <- true
	}
}

func (op *stepLeafOp) OnStop() { op.leaf.end(CompletionStopped[int]()) }

// ending is a receiver that overwrites the operation when it is completed.
type ending[T any] struct {
	EmptyEnv
	source  *stop.Source
	n       int
	last    Completion[T]
	scratch func()
}

func (e *ending[T]) complete(x Completion[T]) {
	e.n++
	e.last = x
	if e.scratch != nil {
		e.scratch()
	}
}

func (e *ending[T]) SetValue(v T)          { e.complete(CompletionValue(v)) }
func (e *ending[T]) SetError(err error)    { e.complete(CompletionError[T](err)) }
func (e *ending[T]) SetStopped()           { e.complete(CompletionStopped[T]()) }
func (e *ending[T]) Env() Env              { return e }
func (e *ending[T]) StopToken() stop.Token { return e.source.Token() }

// begun connects s, and returns its operation and receiver, and a check that it completed once and was not touched
// again.
func begun[T, O any, S Sender[T, O]](t *testing.T, s S) (op *O, start Operation, e *ending[T], check func()) {
	op, e = new(O), &ending[T]{source: new(stop.Source)}
	var zero O
	e.scratch = func() { *op = zero }
	start = s.Connect(op, e)
	return op, start, e, func() {
		if e.n != 1 {
			t.Errorf("completed %d times", e.n)
		}
		if !reflect.DeepEqual(*op, zero) {
			t.Error("the operation was touched after its completion")
		}
		if e.source.Registered() {
			t.Error("a stop callback is left")
		}
	}
}

// again makes the operation be connected and started once more inside its completion, and check that
// it then waits for its leaves, and completes.
func again[T, O any, S Sender[T, O]](t *testing.T, s S, op *O, first *ending[T], leaves ...*stepLeaf) (check func()) {
	second := &ending[T]{source: new(stop.Source)}
	first.scratch = func() {
		var zero O
		*op = zero
		s.Connect(op, second).Start()
	}
	return func() {
		if first.n != 1 || second.n != 0 || first.source.Registered() {
			t.Errorf("completed %d times, and when started again %d times", first.n, second.n)
		}
		second.source.RequestStop()
		for _, l := range leaves {
			l.end(CompletionValue(3))
		}
		if first.n != 1 || second.n != 1 || second.source.Registered() {
			t.Errorf("completed %d times, and when started again %d times", first.n, second.n)
		}
	}
}

// Children that complete by themselves while stop is requested.
func TestGroupInEveryOrder(t *testing.T) {
	for bits := range 8 {
		stopsA, stopsB, reused := bits&1 != 0, bits&2 != 0, bits&4 != 0
		everyOrder(t, func(t *testing.T) ([]func(), func()) {
			a, b := &stepLeaf{stops: stopsA}, &stepLeaf{stops: stopsB}
			s := WhenAny(a, b)
			op, start, e, check := begun[int](t, s)
			if reused {
				check = again[int](t, s, op, e, a, b)
			}
			start.Start()
			endA, endB := a.end, b.end
			return []func(){
				func() { e.source.RequestStop() },
				func() { endA(CompletionValue(1)); endB(CompletionStopped[int]()) },
			}, check
		})
		everyOrder(t, func(t *testing.T) ([]func(), func()) {
			a, b := &stepLeaf{stops: stopsA}, &stepLeaf{stops: stopsB}
			s := WhenAll(a, b)
			op, start, e, check := begun[All2[int, int]](t, s)
			if reused {
				check = again[All2[int, int]](t, s, op, e, a, b)
			}
			start.Start()
			endA, endB := a.end, b.end
			return []func(){
				func() { e.source.RequestStop(); endA(CompletionError[int](ErrStopped)) },
				func() { endB(CompletionValue(2)) },
			}, check
		})
	}
}

// The stop request comes while the operation is being started.
func TestGroupStartsInEveryOrder(t *testing.T) {
	everyOrder(t, func(t *testing.T) ([]func(), func()) {
		a := &stepLeaf{stops: true}
		_, start, e, check := begun[int](t, StopWhen(a, Just(1)))
		return []func(){start.Start, func() { e.source.RequestStop() }}, check
	})
	everyOrder(t, func(t *testing.T) ([]func(), func()) {
		a, b := &stepLeaf{stops: true}, &stepLeaf{stops: true}
		_, start, e, check := begun[int](t, WhenAny(a, b))
		return []func(){start.Start, func() { e.source.RequestStop() }}, check
	})
}

// A round completes on another thread while the frame that started it returns.
func TestTrampolineInEveryOrder(t *testing.T) {
	for rounds := 1; rounds <= 3; rounds++ {
		everyOrder(t, func(t *testing.T) ([]func(), func()) {
			l := &stepLeaf{started: make(chan bool, rounds)}
			n := 0
			_, start, _, check := begun[int](t, RepeatUntil(l, func(int) bool { n++; return n == rounds }))
			return []func(){
				start.Start,
				func() {
					for range rounds { // each as soon as it has been started
						<-l.started
						l.end(CompletionValue(1))
					}
				},
			}, check
		})
	}
}

// The work completes, its consumer starts, and stop is requested from one of them.
func TestSpawnedInEveryOrder(t *testing.T) {
	for _, byScope := range []bool{false, true} {
		everyOrder(t, func(t *testing.T) ([]func(), func()) {
			var scope CountingScope
			l := &stepLeaf{stops: true}
			s := SpawnFuture(&scope, l)
			_, start, e, check := begun[int](t, s)
			request := e.source.RequestStop
			if byScope {
				request = func() bool { scope.RequestStop(); return true }
			}
			return []func(){start.Start, func() { l.end(CompletionValue(1)) }, func() { request() }}, func() {
				check()
				if scope.count != 0 || e.last != CompletionValue(1) && e.last != (CompletionStopped[int]()) {
					t.Errorf("%d in the scope, completed with %v", scope.count, e.last)
				}
			}
		})
	}
}

// Two consumers. Stop is requested from one of them, or from both, while the work completes.
func TestSplitInEveryOrder(t *testing.T) {
	for _, both := range []bool{false, true} {
		for _, stops := range []bool{false, true} {
			everyOrder(t, func(t *testing.T) ([]func(), func()) {
				l := &stepLeaf{stops: stops}
				s := Split(l)
				_, a, eA, checkA := begun[int](t, s)
				_, b, eB, checkB := begun[int](t, s)
				a.Start()
				b.Start()
				left := 2
				for _, e := range []*ending[int]{eA, eB} {
					scratch := e.scratch
					e.scratch = func() {
						if left--; left == 0 && !l.ended {
							t.Error("the work outlives its consumers")
						}
						scratch()
					}
				}
				threads := []func(){
					func() { eA.source.RequestStop() },
					func() { l.end(CompletionValue(1)) },
				}
				if both {
					threads = append(threads, func() { eB.source.RequestStop() })
				}
				return threads, func() {
					checkA()
					checkB()
					if !both && eB.last != CompletionValue(1) {
						t.Errorf("the consumer without a stop request has %v", eB.last)
					}
				}
			})
		}
	}
}

// A consumer starts while the work completes, and while stop is requested.
func TestSplitStartsInEveryOrder(t *testing.T) {
	everyOrder(t, func(t *testing.T) ([]func(), func()) {
		l := &stepLeaf{stops: true}
		s := Split(l)
		_, a, _, checkA := begun[int](t, s)
		_, b, eB, checkB := begun[int](t, s)
		a.Start()
		return []func(){b.Start, func() { l.end(CompletionValue(1)) }, func() { eB.source.RequestStop() }}, func() {
			checkA()
			checkB()
		}
	})
	everyOrder(t, func(t *testing.T) ([]func(), func()) {
		l := &stepLeaf{stops: true}
		s := Split(l)
		_, a, _, checkA := begun[int](t, s)
		_, b, eB, checkB := begun[int](t, s)
		a.Start()
		return []func(){b.Start, func() { eB.source.RequestStop() }}, func() {
			checkB()
			l.end(CompletionValue(1))
			checkA()
		}
	})
}

// Work leaves, work comes, the scope is closed, stopped and joined.
func TestScopeInEveryOrder(t *testing.T) {
	for _, last := range []func(s *CountingScope){(*CountingScope).Close, (*CountingScope).RequestStop} {
		everyOrder(t, func(t *testing.T) ([]func(), func()) {
			scope := new(CountingScope)
			l := &stepLeaf{stops: true}
			Spawn(scope, l)
			op, start, e, check := begun[struct{}](t, scope.Join())
			e.scratch = func() {
				if scope.count != 0 || scope.state != scopeJoined {
					t.Errorf("scopeJoined in state %d with %d left", scope.state, scope.count)
				}
				*op = JoinOp{}
			}
			spawned := false
			return []func(){
					func() { start.Start() },
					func() { l.end(CompletionValue(1)); spawned = Spawn(scope, Just(1)) },
					func() { last(scope) },
				}, func() {
					check()
					if scope.count != 0 || scope.state != scopeJoined {
						t.Errorf("in state %d with %d left; spawned late: %v", scope.state, scope.count, spawned)
					}
				}
		})
	}
}

// Stop is requested by both environments while the child completes.
func TestWriteEnvInEveryOrder(t *testing.T) {
	for bits := range 4 {
		stops, reused := bits&1 != 0, bits&2 != 0
		everyOrder(t, func(t *testing.T) ([]func(), func()) {
			written, l := new(stop.Source), &stepLeaf{stops: stops}
			s := WriteEnv(l, StopEnv{Token: written.Token()})
			op, start, e, check := begun[int](t, s)
			if reused {
				s = WriteEnv(l, StopEnv{Token: new(stop.Source).Token()})
				check = again[int](t, s, op, e, l)
			}
			start.Start()
			end := l.end
			return []func(){
				func() { e.source.RequestStop() },
				func() { written.RequestStop() },
				func() { end(CompletionValue(1)) },
			}, check
		})
	}
}

// A Join is stopped while it is started, and while the last work completes. It is joined once more then.
func TestStoppedJoinInEveryOrder(t *testing.T) {
	for _, concurrent := range []bool{false, true} {
		everyOrder(t, func(t *testing.T) ([]func(), func()) {
			scope, l := new(CountingScope), new(stepLeaf)
			Spawn(scope, l)
			_, start, e, check := begun[struct{}](t, scope.Join().Stoppable())
			threads := []func(){start.Start, func() { e.source.RequestStop() }}
			if concurrent {
				threads = append(threads, func() { l.end(CompletionValue(1)) })
			}
			return threads, func() {
				check()
				joined := e.last == CompletionValue(struct{}{})
				if joined != (scope.state == scopeJoined) && joined || scope.joiners != nil {
					t.Errorf("completed with %v, the scope is in state %d", e.last, scope.state)
				}
				if !concurrent {
					l.end(CompletionValue(1))
				}
				if _, err := SyncWait(t.Context(), scope.Join()); err != nil || scope.state != scopeJoined {
					t.Errorf("joined with %v in state %d", err, scope.state)
				}
			}
		})
	}
}
