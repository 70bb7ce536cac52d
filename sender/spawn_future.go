package sender

import (
	"sync/atomic"

	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// SpawnFuture starts s in scope, and returns a sender of its result, at one allocation. That sender
// completes where s does, or inside Start if s has completed before; stopped if the scope took no
// more. A stop request reaches s, also from the scope. It has one consumer at a time, and panics if it
// is given two; any number may come once there is a result.
//
// If nobody wants the result any more, Abandon says so.
//
// Source: P3149R9 [exec.spawn.future].
func SpawnFuture[T, O any, S Sender[T, O]](scope *CountingScope, s S) SpawnedSender[T] {
	x := new(spawnedState[T, O])
	if !scope.associate() {
		x.phase.Store(spawnedDone)
		return SpawnedSender[T]{&x.spawned}
	}
	x.scope = scope
	connected := false
	defer func() {
		if !connected { // it panicked, which is the caller's affair
			scope.leave()
		}
	}()
	start := s.Connect(&x.child, (*spawnedReceiver[T])(&x.spawned))
	connected = true
	x.onStop.Register(scope.source.Token(), &x.spawned)
	start.Start()
	return SpawnedSender[T]{&x.spawned}
}

// SpawnedSender is what SpawnFuture returns. Copies of it are the same.
type SpawnedSender[T any] struct{ spawned *spawned[T] }

// Abandon says that nobody wants the result: the work is asked to stop. It must not be called while the
// sender is in flight.
func (s SpawnedSender[T]) Abandon() { s.spawned.OnStop() }

// SpawnedOp is the operation state of SpawnedSender.
type SpawnedOp[T any] struct {
	spawned *spawned[T]
	r       Receiver[T]
	onStop  stop.Callback
}

// Connect implements Sender.
func (s SpawnedSender[T]) Connect(op *SpawnedOp[T], r Receiver[T]) Operation {
	op.spawned, op.r = s.spawned, r
	return op
}

// Start implements Operation.
func (op *SpawnedOp[T]) Start() {
	s := op.spawned
	if !s.phase.CompareAndSwap(spawnedRunning, spawnedTaken) {
		step()
		if s.phase.Load() != spawnedDone {
			panic("sender: two consumers of one spawned result: use Split for a result that several wait for")
		}
		s.result.deliver(op.r)
		return
	}
	step()
	op.onStop.Register(op.r.Env().StopToken(), s)
	step()
	if !s.wait(op) {
		op.deliver(s.result)
	}
}

func (op *SpawnedOp[T]) deliver(x result[T]) {
	step()
	op.onStop.Deregister()
	x.deliver(op.r)
}

// spawnedState is what SpawnFuture allocates.
type spawnedState[T, O any] struct {
	spawned[T]
	child O
}

// spawned is where the work and the consumer of its result meet.
type spawned[T any] struct {
	scope    *CountingScope
	source   stop.Source   // the work's
	onStop   stop.Callback // the scope's request
	phase    atomic.Uint32
	consumer *SpawnedOp[T] // published by spawnedWaiting
	result   result[T]     // published by spawnedDone
}

// The phases of spawned.
const (
	spawnedRunning = iota // and nobody waits
	spawnedTaken          // somebody is about to wait
	spawnedWaiting        // the consumer waits
	spawnedDone           // there is a result
)

// wait makes op the consumer, or returns false if there is a result.
func (s *spawned[T]) wait(op *SpawnedOp[T]) bool {
	s.consumer = op
	step()
	return s.phase.CompareAndSwap(spawnedTaken, spawnedWaiting)
}

// complete is the end of the work.
func (s *spawned[T]) complete(x result[T]) {
	scope := s.scope
	s.onStop.Deregister()
	s.result = x
	step()
	if s.phase.Swap(spawnedDone) == spawnedWaiting {
		// A function of the consumer's may end this frame by runtime.Goexit.
		returned := false
		defer aftergoexit.Run(&returned, scope.leave)
		s.consumer.deliver(x)
		returned = true
	}
	step()
	scope.leave()
}

// OnStop is a request of the scope or of the consumer.
func (s *spawned[T]) OnStop() { s.source.RequestStop() }

// spawnedReceiver is the work's receiver, and its environment.
type spawnedReceiver[T any] spawned[T]

func (s *spawnedReceiver[T]) SetValue(v T)          { (*spawned[T])(s).complete(valueOf(v)) }
func (s *spawnedReceiver[T]) SetError(err error)    { (*spawned[T])(s).complete(errorOf[T](err)) }
func (s *spawnedReceiver[T]) SetStopped()           { (*spawned[T])(s).complete(result[T]{}) }
func (s *spawnedReceiver[T]) Env() Env              { return s }
func (s *spawnedReceiver[T]) StopToken() stop.Token { return s.source.Token() }
func (s *spawnedReceiver[T]) Scheduler() Scheduler  { return nil }
func (s *spawnedReceiver[T]) Value(any) any         { return nil }
