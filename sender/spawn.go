package sender

import (
	"fmt"

	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// Spawn starts s in scope. It returns false, and does not connect s, if the scope is closed. The environment of s has
// only the scope's stop token; [WriteEnv] gives it a scheduler.
//
// Completion: a value and stopped are dropped. An error is passed to [CountingScope].OnError.
//
// Cancellation: [CountingScope.RequestStop].
//
// Allocation: the operation state.
//
// Source: P3149R9 [exec.spawn].
func Spawn[T, O any, S Sender[T, O]](scope *CountingScope, s S) bool {
	if !scope.associate() {
		return false
	}
	op := &spawnOp[T, O]{scope: scope}
	connected := false
	defer func() {
		if !connected { // Connect panicked: the panic goes to the caller
			scope.disassociate()
		}
	}()
	start := s.Connect(&op.child, op)
	connected = true
	start.Start()
	return true
}

// spawnOp is the operation state of spawned work, and its receiver.
type spawnOp[T, O any] struct {
	child O
	scope *CountingScope
}

func (op *spawnOp[T, O]) SetValue(T)  { op.scope.disassociate() }
func (op *spawnOp[T, O]) SetStopped() { op.scope.disassociate() }

func (op *spawnOp[T, O]) SetError(err error) {
	f := op.scope.OnError
	if f == nil {
		panic(fmt.Errorf("sender: spawned work failed, and CountingScope.OnError is nil: %w", CompletionError[T](err).Err))
	}
	returned := false
	defer aftergoexit.Run(&returned, op.scope.disassociate)
	f(err)
	returned = true
	op.scope.disassociate()
}

func (op *spawnOp[T, O]) Env() Env { return (*scopeEnv)(op.scope) }
