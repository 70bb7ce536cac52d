package task

import "github.com/reactord/reactord/sender"

// New returns a sender that runs f as a task. See the package for where it runs.
//
// Completion: with an empty value if f returns nil; stopped if f returns [sender.ErrStopped] or an error that wraps it;
// otherwise with the error.
//
// Cancellation: stop requests are forwarded to what the task awaits. If stop was requested before the task begins, f is
// not called and it completes stopped.
//
// Allocation: a coroutine, if no idle one is left.
//
// Source: P3552R3, task<void>.
func New(f func(*T) error) Sender {
	if f == nil {
		panic(nilFunc)
	}
	return Sender{f}
}

// nilFunc is the panic for a task without a function.
const nilFunc = "task: a task of a nil function: give it what it is to do"

// Sender is the sender that [New] returns.
type Sender struct{ f func(*T) error }

// Op is the operation state of [Sender]. It must be on the heap.
type Op struct {
	t T
	f func(*T) error
	r sender.Receiver[struct{}]
}

// Connect implements [sender.Sender].
func (s Sender) Connect(op *Op, r sender.Receiver[struct{}]) sender.Operation {
	op.f, op.r = s.f, r
	return op
}

// Start implements [sender.Operation].
func (op *Op) Start() {
	op.t.began = false
	op.t.start(op, op.r.Env())
}

// Began reports whether the task's function has been called since Start. It is called when the task has completed: if
// the function was not called, the receiver has to release the resources that the function would have released. By it
// sender.SpawnOr knows that.
func (op *Op) Began() bool { return op.t.began }

func (op *Op) call() error {
	op.t.began = true
	return op.f(&op.t)
}

func (op *Op) complete(err error) { sender.Complete(op.r, struct{}{}, err) }

// NewValue does what [New] does, for a function with a value. The task completes with the value if the error is nil.
//
// Source: P3552R3, task<T>.
func NewValue[V any](f func(*T) (V, error)) ValueSender[V] {
	if f == nil {
		panic(nilFunc)
	}
	return ValueSender[V]{f}
}

// ValueSender is the sender that [NewValue] returns.
type ValueSender[V any] struct{ f func(*T) (V, error) }

// ValueOp is the operation state of [ValueSender]. It must be on the heap.
type ValueOp[V any] struct {
	t     T
	f     func(*T) (V, error)
	r     sender.Receiver[V]
	value V
	began bool
}

// Connect implements [sender.Sender].
func (s ValueSender[V]) Connect(op *ValueOp[V], r sender.Receiver[V]) sender.Operation {
	op.f, op.r = s.f, r
	return op
}

// Start implements [sender.Operation].
func (op *ValueOp[V]) Start() {
	op.began = false
	op.t.start(op, op.r.Env())
}

// Began does what [Op.Began] does.
func (op *ValueOp[V]) Began() bool { return op.began }

func (op *ValueOp[V]) call() (err error) {
	op.began = true
	op.value, err = op.f(&op.t)
	return err
}

func (op *ValueOp[V]) complete(err error) {
	v := op.value
	var zero V
	op.value = zero
	sender.Complete(op.r, v, err)
}
