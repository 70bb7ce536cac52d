package task

import (
	"errors"
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
func Await[V, O any, S sender.Sender[V, O]](t *T, s S) (V, error) {
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
	t.co.env.token = t.tokenFor(&w.await)
	s.Connect(&w.op, w).Start()
	if atomic.LoadUint32(&w.state) != settled {
		t.suspend(&w.await)
		if atomic.LoadUint32(&w.state) != settled { // dropped: whoever completes it may be writing to it
			var none V
			return none, sender.ErrStopped
		}
	}
	return w.take()
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
		panic("task: Await while the task does not run: it is suspended in an Await of its own, or has returned; " +
			"await in the task's function, and elsewhere use sender.SyncWait or a task of its own")
	case !t.co.own():
		panic("task: Await on a goroutine that is not the task's: await in the task's function, " +
			"and wait on other goroutines with sender.SyncWait or in a task of their own")
	default:
		panic("task: Await inside of an Await of the same task")
	}
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
	w := &awaited[V, O, S]{await: await{co: co, confined: co.confines(sender.CompletionBehaviorOf(new(S)))}}
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
	if err == nil {
		err = errNil
	}
	w.err, w.channel = err, onError
	w.settle()
}

// errNil is the error of an operation that has none, which would look like success.
var errNil = errors.New("task: an awaited operation called SetError(nil): an error says why, and success is SetValue")

func (w *awaited[V, O, S]) SetStopped() { w.settle() }

func (w *awaited[V, O, S]) Env() sender.Env { return &w.co.env }
