package task

import "github.com/reactord/reactord/sender"

// New is a sender that runs f as a task. See the package for where, and how it completes.
//
// Connecting and starting it allocates nothing; a coroutine is taken from those that are idle, or made.
// Its operation may be started again without connecting it anew.
//
// Source: P3552R3, task<void>.
func New(f func(*T) error) Sender { return Sender{f} }

// Sender is what New returns.
type Sender struct{ f func(*T) error }

// Op is the operation state of a task without a value. It must be on the heap.
type Op struct {
	t     T
	f     func(*T) error
	r     sender.Receiver[struct{}]
	began bool
}

// Connect implements sender.Sender.
func (s Sender) Connect(op *Op, r sender.Receiver[struct{}]) sender.Operation {
	op.f, op.r = s.f, r
	return op
}

// Start implements sender.Operation.
func (op *Op) Start() {
	op.began = false
	op.t.start(op, op.r.Env())
}

// Began reports whether the task's function was called since Start. It is asked once the task has completed: what
// was left to the function is its receiver's to deal with if not.
func (op *Op) Began() bool { return op.began }

func (op *Op) call() error {
	op.began = true
	return op.f(&op.t)
}

func (op *Op) complete(err error) { sender.Complete(op.r, struct{}{}, err) }

// NewValue is New for a function with a value, which the task completes with if the error is nil.
//
// Source: P3552R3, task<T>.
func NewValue[V any](f func(*T) (V, error)) ValueSender[V] { return ValueSender[V]{f} }

// ValueSender is what NewValue returns.
type ValueSender[V any] struct{ f func(*T) (V, error) }

// ValueOp is the operation state of a task with a value. It must be on the heap.
type ValueOp[V any] struct {
	t     T
	f     func(*T) (V, error)
	r     sender.Receiver[V]
	value V
}

// Connect implements sender.Sender.
func (s ValueSender[V]) Connect(op *ValueOp[V], r sender.Receiver[V]) sender.Operation {
	op.f, op.r = s.f, r
	return op
}

// Start implements sender.Operation.
func (op *ValueOp[V]) Start() { op.t.start(op, op.r.Env()) }

func (op *ValueOp[V]) call() (err error) {
	op.value, err = op.f(&op.t)
	return err
}

func (op *ValueOp[V]) complete(err error) {
	v := op.value
	var none V
	op.value = none
	sender.Complete(op.r, v, err)
}
