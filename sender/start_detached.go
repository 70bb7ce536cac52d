package sender

import "fmt"

// StartDetached starts s and does not wait for it. The environment of s is empty. Prefer [Spawn] into a
// [CountingScope], which can be joined: detached work outlives the function that started it.
//
// Completion: a value and stopped are dropped. An error panics where s completes, as an unhandled error of a
// goroutine would, because no code would receive it; handle it with [UponError].
//
// Allocation: the operation state.
//
// Source: P2300R9 [exec.start.detached], P3149R9 §2.
func StartDetached[T, O any, S Sender[T, O]](s S) {
	Submit[T, O](s, detached[T]{})
}

// detached is the receiver of StartDetached.
type detached[T any] struct{ Discard[T] }

func (detached[T]) SetError(err error) {
	panic(fmt.Errorf("sender: detached work failed: handle the error with UponError: %w", CompletionError[T](err).Err))
}
