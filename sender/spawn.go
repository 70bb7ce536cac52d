package sender

import (
	"fmt"

	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// Spawn starts s in scope, at one allocation. Its value is dropped, and so is being stopped; an error
// goes to the scope's OnError. It returns false, and does not touch s, if the scope takes no more.
//
// The environment of s has the scope's stop token, and nothing else: WriteEnv gives it a scheduler.
//
// Source: P3149R9 [exec.spawn].
func Spawn[T, O any, S Sender[T, O]](scope *CountingScope, s S) bool {
	if !scope.associate() {
		return false
	}
	op := &spawnOp[T, O]{scope: scope}
	connected := false
	defer func() {
		if !connected { // it panicked, which is the caller's affair
			scope.leave()
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

func (op *spawnOp[T, O]) SetValue(T)  { op.scope.leave() }
func (op *spawnOp[T, O]) SetStopped() { op.scope.leave() }

func (op *spawnOp[T, O]) SetError(err error) {
	f := op.scope.OnError
	if f == nil {
		panic(fmt.Errorf("sender: nobody handles the error: %w", err))
	}
	returned := false
	defer aftergoexit.Run(&returned, op.scope.leave)
	f(err)
	returned = true
	op.scope.leave()
}

func (op *spawnOp[T, O]) Env() Env { return (*scopeEnv)(op.scope) }
