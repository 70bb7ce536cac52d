package task

import (
	"errors"
	"sync/atomic"

	"github.com/reactord/reactord/sender"
)

// Await starts s, suspends the task until s has completed, and returns the value, the error, or [sender.ErrStopped]. If
// s completes inside its Start, the task is not suspended. If s has done only a part of its work (see
// [sender.PartialReceiver]), Await returns the part together with the reason.
//
// It is called by the task's function, on the function's goroutine.
//
// Cancellation: s gets the stop requests of the task's receiver, except inside [Unstoppable].
//
// Allocation: the operation state of s, if none is left of those in which the scheduler's tasks have awaited such a
// sender.
//
// Source: P3552R3 §4.4 (the result of co_await), §4.5 (affinity).
func Await[V, O any, S sender.Sender[V, O]](t *T, s S) (V, error) {
	t.check()
	if t.fate != alive {
		t.unwind()
		var zero V
		return zero, sender.ErrStopped
	}
	t.awaiting = true
	defer func() { t.awaiting = false }() // also if Connect panics
	free := listOf[V, O, S](t.co.states)
	if free == nil || free.first == nil {
		t.startOutside((*allocation[V, O, S])(t.co), nil) // here, because each frame counts
		free = listOf[V, O, S](t.co.states)
	}
	w := free.take(t.co)
	w.state = awaitPending
	t.co.env.token = t.tokenFor(&w.await)
	if op := s.Connect(&w.op, w); w.outside {
		t.startOutside(op, &w.await)
	} else if op.Start(); atomic.LoadUint32(&w.state) != awaitCompleted {
		t.suspend(&w.await)
	}
	if atomic.LoadUint32(&w.state) != awaitCompleted { // abandoned: the completion may be writing to w
		var zero V
		return zero, sender.ErrStopped
	}
	v, err := w.take()
	if t.fate == alive {
		free.put(w)
	}
	return v, err
}

// check panics unless it is called by the running function, and not inside Await.
func (t *T) check() {
	if !t.running || t.awaiting || !t.co.own() {
		t.misuse()
	}
}

func (t *T) misuse() {
	switch {
	case !t.running:
		panic("task: Await while the task does not run: it is suspended in an Await, or its function has returned: " +
			"call Await in the task's function, and elsewhere use sender.SyncWait or another task")
	case !t.co.own():
		panic("task: Await on a goroutine that is not the task's: call Await in the task's function, " +
			"and on other goroutines use sender.SyncWait or another task")
	default:
		panic("task: Await inside of an Await of the same task: compose the senders, or await one after the other")
	}
}

// awaited is an awaited operation, and its receiver. S distinguishes senders whose operation states have the same
// type.
type awaited[V, O any, S sender.Sender[V, O]] struct {
	await
	op     O
	result sender.Completion[V]
	next   *awaited[V, O, S] // in the stateList
}

// take returns the result. It keeps nothing reachable.
func (w *awaited[V, O, S]) take() (V, error) {
	x := w.result
	w.result = sender.Completion[V]{}
	return x.Get()
}

func (w *awaited[V, O, S]) SetValue(v V) {
	w.result.Channel, w.result.Value = sender.OnValue, v
	w.complete()
}

func (w *awaited[V, O, S]) SetError(err error) {
	if err == nil {
		err = errNil
	}
	w.result.Channel, w.result.Err = sender.OnError, err
	w.complete()
}

// errNil is the error of an operation that fails with a nil error, which would look like success.
var errNil = errors.New("task: an awaited operation called SetError(nil): an error must say what failed; " +
	"use SetValue for success")

func (w *awaited[V, O, S]) SetStopped() {
	w.result.Channel = sender.OnStopped
	w.complete()
}

// SetPartial implements [sender.PartialReceiver]: Await returns the part, and why it is not all.
func (w *awaited[V, O, S]) SetPartial(v V, err error) {
	w.result.Value = v
	w.SetError(err)
}

func (w *awaited[V, O, S]) Env() sender.Env { return &w.co.env }
