package sender

import "fmt"

// PartialReceiver is a [Receiver] that also receives the part of its work that an operation had done when it was
// stopped.
//
// An operation such as SendAll of a socket moves a number of bytes, or is stopped in between. What it has moved counts,
// so it cannot complete stopped; but a value would look as if it had moved all of them. It calls [SetPartial]. The
// receivers of [Timeout], [StopWhen], [WriteEnv], [Unstoppable], [SyncWait] and of package task are PartialReceivers.
// For others the part is a value.
type PartialReceiver[T any] interface {
	Receiver[T]
	// SetPartial completes, instead of SetValue(v), an operation that ended early because of err; v is what it has done
	// so far. err is [ErrStopped], or for example net.ErrClosed.
	SetPartial(v T, err error)
}

// SetPartial completes r with a part: by its SetPartial if it is a [PartialReceiver], and otherwise by SetValue.
func SetPartial[T any](r Receiver[T], v T, err error) {
	if p, ok := r.(PartialReceiver[T]); ok {
		p.SetPartial(v, err)
	} else {
		r.SetValue(v)
	}
}

// PartialError is the error of an operation that had done a part of its work when it ended because of Err. [Timeout]
// completes with one.
type PartialError[T any] struct {
	Value T     // what was done, such as the number of bytes that were sent
	Err   error // why it ended, such as os.ErrDeadlineExceeded
}

// Error implements error.
func (e *PartialError[T]) Error() string { return fmt.Sprintf("%v, after a part: %v", e.Err, e.Value) }

// Unwrap returns e.Err.
func (e *PartialError[T]) Unwrap() error { return e.Err }
