package sender

import (
	"sync/atomic"

	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// SpawnFuture starts s in scope, and returns a sender of its result. That sender may be connected once at a time: it
// panics if a second consumer starts it before there is a result. Afterwards any number may start it. If the result is
// no longer needed, call [SpawnedSender.Abandon].
//
// Completion: where s completes; inside Start if s has completed before. It completes stopped if the scope was
// closed.
//
// Cancellation: a stop request of the consumer or of the scope reaches s.
//
// Allocation: the operation state.
//
// Source: P3149R9 [exec.spawn.future].
func SpawnFuture[T, O any, S Sender[T, O]](scope *CountingScope, s S) SpawnedSender[T] {
	x := new(spawnedState[T, O])
	if !scope.associate() {
		x.result = CompletionStopped[T]()
		x.phase.Store(spawnedDone)
		return SpawnedSender[T]{&x.spawned}
	}
	x.scope = scope
	connected := false
	defer func() {
		if !connected { // Connect panicked: the panic goes to the caller
			scope.disassociate()
		}
	}()
	start := s.Connect(&x.child, (*spawnedReceiver[T])(&x.spawned))
	connected = true
	x.onStop.Register(scope.source.Token(), &x.spawned)
	start.Start()
	return SpawnedSender[T]{&x.spawned}
}

// SpawnedSender is the sender that [SpawnFuture] returns. Copies of it are equal.
type SpawnedSender[T any] struct{ spawned *spawned[T] }

// Abandon requests the work to stop, because its result is not needed. It must not be called while the sender is in
// flight.
func (s SpawnedSender[T]) Abandon() { s.spawned.OnStop() }

// SpawnedOp is the operation state of [SpawnedSender].
type SpawnedOp[T any] struct {
	spawned *spawned[T]
	r       Receiver[T]
	onStop  stop.Callback
}

// Connect implements [Sender].
func (s SpawnedSender[T]) Connect(op *SpawnedOp[T], r Receiver[T]) Operation {
	op.spawned, op.r = s.spawned, r
	return op
}

// Start implements [Operation].
func (op *SpawnedOp[T]) Start() {
	s := op.spawned
	if !s.phase.CompareAndSwap(spawnedRunning, spawnedTaken) {
		step()
		if s.phase.Load() != spawnedDone {
			panic("sender: two consumers wait for one spawned result: use Split for several consumers")
		}
		s.result.Deliver(op.r)
		return
	}
	step()
	op.onStop.Register(op.r.Env().StopToken(), s)
	step()
	if !s.wait(op) {
		op.deliver(s.result)
	}
}

func (op *SpawnedOp[T]) deliver(x Completion[T]) {
	step()
	op.onStop.Deregister()
	x.Deliver(op.r)
}

// spawnedState is the allocation of SpawnFuture.
type spawnedState[T, O any] struct {
	spawned[T]
	child O
}

// spawned is the state that the work and the consumer of its result share. phase says which of them has arrived.
type spawned[T any] struct {
	scope    *CountingScope
	source   stop.Source   // requests the work to stop
	onStop   stop.Callback // forwards the scope's stop request
	phase    atomic.Uint32
	consumer *SpawnedOp[T] // published by spawnedWaiting
	result   Completion[T] // published by spawnedDone
}

// The phases of spawned:
//
//	spawnedRunning --Start--> spawnedTaken --wait--> spawnedWaiting
//	any of these --complete--> spawnedDone
const (
	spawnedRunning uint32 = iota // the work is in flight, and no consumer waits
	spawnedTaken                 // a consumer is about to wait
	spawnedWaiting               // the consumer waits
	spawnedDone                  // there is a result
)

// wait makes op the consumer, or returns false if there is a result.
func (s *spawned[T]) wait(op *SpawnedOp[T]) bool {
	s.consumer = op
	step()
	return s.phase.CompareAndSwap(spawnedTaken, spawnedWaiting)
}

// complete stores the result of the work, delivers it to a waiting consumer, and leaves the scope.
func (s *spawned[T]) complete(x Completion[T]) {
	scope := s.scope
	s.onStop.Deregister()
	s.result = x
	step()
	if s.phase.Swap(spawnedDone) == spawnedWaiting {
		// A user's function may end this frame by runtime.Goexit.
		returned := false
		defer aftergoexit.Run(&returned, scope.disassociate)
		s.consumer.deliver(x)
		returned = true
	}
	step()
	scope.disassociate()
}

// OnStop forwards a stop request of the scope or of the consumer.
func (s *spawned[T]) OnStop() { s.source.RequestStop() }

// spawnedReceiver is the work's receiver, and its environment.
type spawnedReceiver[T any] spawned[T]

func (s *spawnedReceiver[T]) SetValue(v T)          { (*spawned[T])(s).complete(CompletionValue(v)) }
func (s *spawnedReceiver[T]) SetError(err error)    { (*spawned[T])(s).complete(CompletionError[T](err)) }
func (s *spawnedReceiver[T]) SetStopped()           { (*spawned[T])(s).complete(CompletionStopped[T]()) }
func (s *spawnedReceiver[T]) Env() Env              { return s }
func (s *spawnedReceiver[T]) StopToken() stop.Token { return s.source.Token() }
func (s *spawnedReceiver[T]) Scheduler() Scheduler  { return nil }
func (s *spawnedReceiver[T]) Value(any) any         { return nil }
