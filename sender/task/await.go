package task

import (
	"sync/atomic"

	"github.com/reactord/reactord/sender"
)

// Await starts s and returns what it completes with, or sender.ErrStopped. Meanwhile the task is
// suspended, unless s completes before its Start has returned.
//
// It is called by the task's function, on the function's goroutine. It allocates the operation state
// of s if the task has awaited no such sender before.
//
// Source: P3552R3 §4.4 (the result of co_await), §4.5 (affinity).
func Await[V, O any, P sender.Operation[O], S sender.Sender[V, O]](t *T, s S) (V, error) {
	t.check()
	if t.fate != alive {
		t.ending()
		var none V
		return none, sender.ErrStopped
	}
	t.awaiting = true
	defer func() { t.awaiting = false }() // also if Connect panics
	w := awaitedBy[V, O, S](t.co)
	w.state = pending
	s.Connect(&w.op, w)
	P(&w.op).Start()
	if atomic.LoadUint32(&w.state) != settled {
		t.suspend(&w.await)
	}
	return w.take()
}

// check panics unless the function is running, and is not inside Await.
func (t *T) check() {
	if !t.running || t.awaiting {
		t.misuse()
	}
}

func (t *T) misuse() {
	if t.awaiting && t.running {
		panic("task: Await inside of an Await of the same task")
	}
	panic("task: Await outside of the task's function")
}

// awaited is an awaited operation, and its receiver. S tells apart senders that have their operation's type
// in common.
type awaited[V, O any, S sender.Sender[V, O]] struct {
	await
	channel channel
	op      O
	value   V
	err     error
}

// channel is which of the three completions was called.
type channel uint8

const (
	onStopped channel = iota
	onValue
	onError
)

// awaitedBy is the coroutine's operation state for senders of this type.
func awaitedBy[V, O any, S sender.Sender[V, O]](co *coroutine) *awaited[V, O, S] {
	for _, x := range co.cache {
		if w, ok := x.(*awaited[V, O, S]); ok {
			return w
		}
	}
	w := &awaited[V, O, S]{await: await{co: co, confined: co.confines(sender.CompletionOf(new(S)))}}
	co.cache = append(co.cache, w)
	return w
}

// take is the result. It keeps nothing of it.
func (w *awaited[V, O, S]) take() (V, error) {
	switch w.channel {
	case onValue:
		v := w.value
		var none V
		w.channel, w.value = onStopped, none
		return v, nil
	case onError:
		err := w.err
		w.channel, w.err = onStopped, nil
		return w.value, err
	}
	return w.value, sender.ErrStopped
}

// clear forgets what the operation was about, so that an idle coroutine keeps nothing alive.
func (w *awaited[V, O, S]) clear() {
	var none O
	w.op = none
}

func (w *awaited[V, O, S]) SetValue(v V) {
	w.value, w.channel = v, onValue
	w.settle()
}

func (w *awaited[V, O, S]) SetError(err error) {
	w.err, w.channel = err, onError
	w.settle()
}

func (w *awaited[V, O, S]) SetStopped() { w.settle() }

func (w *awaited[V, O, S]) Env() sender.Env { return (*env)(w.co.t) }
