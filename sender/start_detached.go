package sender

import "fmt"

// StartDetached starts s and forgets about it, at one allocation. A value is dropped, and so is being
// stopped; an error must not come, since nobody would hear of it: it panics where s completes, as a
// goroutine would. UponError handles it before that. The environment is empty.
//
// What is started so outlives whoever started it: Spawn into a CountingScope is better.
//
// Source: P2300R9 [exec.start.detached], P3149R9 §2.
func StartDetached[T, O any, S Sender[T, O]](s S) {
	Submit[T, O](s, detached[T]{})
}

// detached is the receiver of what nobody waits for.
type detached[T any] struct{ Discard[T] }

func (detached[T]) SetError(err error) {
	panic(fmt.Errorf("sender: nobody handles the error: %w", err))
}
