package sender

// Discard is a receiver that ignores every completion: for an operation that no code waits for, such as the closing
// of a socket. The caller must make sure that the operation state lives until the completion.
type Discard[T any] struct{}

// SetValue does nothing.
func (Discard[T]) SetValue(T) {}

// SetError does nothing.
func (Discard[T]) SetError(error) {}

// SetStopped does nothing.
func (Discard[T]) SetStopped() {}

// Env returns the empty environment.
func (Discard[T]) Env() Env { return EmptyEnv{} }
