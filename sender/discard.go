package sender

// Discard is a receiver that lets every completion pass: for an operation whose end nobody waits for,
// such as the closing of a socket. Whoever uses it makes sure that the operation state lives on.
type Discard[T any] struct{}

// SetValue does nothing.
func (Discard[T]) SetValue(T) {}

// SetError does nothing.
func (Discard[T]) SetError(error) {}

// SetStopped does nothing.
func (Discard[T]) SetStopped() {}

// Env is empty.
func (Discard[T]) Env() Env { return EmptyEnv{} }
