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
	startSpawned[T, O](&spawnOp[T, O]{scope: scope}, s)
	return true
}

// SpawnOr does what [Spawn] does, for work that owns something before it begins, such as an accepted connection. If the
// work never begins, notRun is called instead, once, so that it can release what the work owns:
//
//   - inside SpawnOr, if the scope is closed or was requested to stop: s is not connected then;
//   - where s completes, if that is before its work began. A Join of the scope waits for notRun. An error of s, such as
//     that of a scheduler that has ended, is dropped.
//
// The work begins when its operation is started. An operation that starts its work later has a method Began() bool,
// which tells whether the work has begun when the operation completes: that of [StartsOn] begins when the scheduler
// starts it, a task when its function is called. Adaptors that start what they adapt immediately, such as [Then] and
// [WriteEnv], are transparent to that; others, such as [Timeout] and [WhenAll], begin when they are started.
//
// Everything else is as of Spawn. In P3149 the destructor of the work that was not started does what notRun does.
func SpawnOr[T, O any, S Sender[T, O]](scope *CountingScope, s S, notRun func()) {
	if !scope.associate() {
		notRun()
		return
	}
	op := &spawnOp[T, O]{scope: scope, notRun: notRun}
	if scope.source.Token().StopRequested() {
		op.SetStopped()
		return
	}
	startSpawned[T, O](op, s)
}

// beginner is an operation whose work may begin later than its Start, or never: see [SpawnOr].
type beginner interface{ Began() bool }

// began reports whether the work of an operation that was started has begun.
func began(op Operation) bool {
	b, ok := op.(beginner)
	return !ok || b.Began()
}

// startSpawned connects and starts s.
func startSpawned[T, O any, S Sender[T, O]](op *spawnOp[T, O], s S) {
	connected := false
	defer func() {
		if !connected { // Connect panicked: the panic goes to the caller
			op.scope.disassociate()
		}
	}()
	start := s.Connect(&op.child, op)
	connected = true
	if op.notRun != nil {
		op.start = start
	}
	start.Start()
}

// spawnOp is the operation state of spawned work, and its receiver.
type spawnOp[T, O any] struct {
	child  O
	scope  *CountingScope
	notRun func()    // nil: see Spawn
	start  Operation // the child, if there is notRun; nil: it was not connected
}

// SetValue calls SetStopped: an adaptor may have made a value of work that never began.
func (op *spawnOp[T, O]) SetValue(T) { op.SetStopped() }

func (op *spawnOp[T, O]) SetStopped() {
	if op.neverBegan() {
		op.finish(op.notRun)
		return
	}
	op.scope.disassociate()
}

func (op *spawnOp[T, O]) SetError(err error) {
	if op.neverBegan() {
		op.finish(op.notRun)
		return
	}
	f := op.scope.OnError
	if f == nil {
		panic(fmt.Errorf("sender: spawned work failed, and CountingScope.OnError is nil: %w", CompletionError[T](err).Err))
	}
	op.finish(func() { f(err) })
}

// neverBegan reports whether notRun is to be called.
func (op *spawnOp[T, O]) neverBegan() bool {
	return op.notRun != nil && (op.start == nil || !began(op.start))
}

// finish calls f, and leaves the scope also if f ends its goroutine.
func (op *spawnOp[T, O]) finish(f func()) {
	returned := false
	defer aftergoexit.Run(&returned, op.scope.disassociate)
	f()
	returned = true
	op.scope.disassociate()
}

func (op *spawnOp[T, O]) Env() Env { return (*scopeEnv)(op.scope) }
