package sender

import (
	"sync"
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// Split returns a sender that any number of consumers may connect and start. s runs once, when the first consumer
// starts. All consumers complete with what s completes with. The value is shared.
//
// Completion: consumers that wait complete where s completes, later ones inside Start.
//
// Cancellation: a consumer that is requested to stop completes stopped immediately, on the thread of the request. But
// the last waiting consumer requests s to stop and waits for it, so s never outlives its consumers. A consumer that
// starts in that time completes as s does. A consumer that was requested to stop before Start completes stopped and
// does not start s.
//
// The environment of s has no scheduler and answers no queries, because s belongs to none of the consumers.
//
// Allocation: Split allocates the operation state of s and the state that the consumers share.
//
// Source: P2300R9 [exec.split], which stops s as soon as any consumer is requested to stop.
func Split[T, O any, S Sender[T, O]](s S) SplitSender[T] {
	x := new(splitState[T, O])
	x.start = s.Connect(&x.child, (*splitReceiver[T])(&x.sharedOperation))
	return SplitSender[T]{&x.sharedOperation}
}

// SplitSender is the sender that [Split] returns. Copies of it are equal.
type SplitSender[T any] struct{ shared *sharedOperation[T] }

// SplitOp is the operation state of one consumer of a [SplitSender].
type SplitOp[T any] struct {
	shared *sharedOperation[T]
	r      Receiver[T]
	onStop stop.Callback
	links  intrusive.Links // in shared.waiting; guarded by shared.mu
	state  consumerState   // guarded by shared.mu
}

// consumerState is the state of a consumer.
//
//	consumerIdle --Start--> consumerWaiting --completion, or a stop request--> consumerIdle
//	consumerIdle --stop request inside Start--> consumerStopped --Start--> consumerIdle
type consumerState uint8

const (
	consumerIdle    consumerState = iota
	consumerWaiting               // on the list of waiting consumers
	consumerStopped               // a stop request came before the consumer was on the list
)

// splitState is the allocation of Split.
type splitState[T, O any] struct {
	sharedOperation[T]
	child O
}

// sharedOperation is the operation that the consumers share.
type sharedOperation[T any] struct {
	start   Operation   // the operation of s
	source  stop.Source // requests s to stop
	mu      sync.Mutex
	waiting intrusive.List // of consumers
	started bool
	result  Completion[T] // none until s has completed
}

// Connect implements [Sender].
func (s SplitSender[T]) Connect(op *SplitOp[T], r Receiver[T]) Operation {
	op.shared, op.r = s.shared, r
	return op
}

// Start implements [Operation].
func (op *SplitOp[T]) Start() {
	s := op.shared
	op.state = consumerIdle
	op.onStop.Register(op.r.Env().StopToken(), op)
	step()
	s.mu.Lock()
	if op.state == consumerStopped || s.result.Channel != OnNone {
		c := s.result
		if op.state == consumerStopped {
			c = CompletionStopped[T]()
		}
		s.mu.Unlock()
		op.onStop.Deregister()
		c.Deliver(op.r)
		return
	}
	op.state = consumerWaiting
	s.waiting.PushFront(&op.links)
	first := !s.started
	s.started = true
	s.mu.Unlock()
	step() // op may complete here
	if first {
		s.start.Start()
	}
}

// OnStop completes the consumer stopped. If it is the last that waits, OnStop requests s to stop instead.
func (op *SplitOp[T]) OnStop() {
	s := op.shared
	step()
	s.mu.Lock()
	if op.state != consumerWaiting {
		op.state = consumerStopped // Start reads it, or s has completed
		s.mu.Unlock()
		return
	}
	if s.waiting.First() == &op.links && op.links.Next() == nil {
		s.mu.Unlock()
		step()
		s.source.RequestStop() // op may complete here
		return
	}
	s.waiting.Remove(&op.links)
	op.state = consumerIdle
	s.mu.Unlock()
	step()
	op.onStop.Deregister() // does not wait, because this is the handler; op may be reused after it
	op.r.SetStopped()
}

// complete completes all consumers that wait, one after another. Until then each of them may be requested to stop,
// and leave the list.
func (s *sharedOperation[T]) complete(c Completion[T]) {
	s.mu.Lock()
	s.result = c
	s.mu.Unlock()
	s.completeWaiting(c)
}

func (s *sharedOperation[T]) completeWaiting(c Completion[T]) {
	// A user's function may end this frame by runtime.Goexit.
	returned := false
	defer aftergoexit.Run(&returned, func() { s.completeWaiting(c) })
	for op := s.popWaiting(); op != nil; op = s.popWaiting() {
		step()
		op.onStop.Deregister()
		c.Deliver(op.r)
	}
	returned = true
}

// popWaiting takes a consumer off the list; nil: it is empty.
func (s *sharedOperation[T]) popWaiting() *SplitOp[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	op := intrusive.Owner[SplitOp[T]](s.waiting.PopFront(), unsafe.Offsetof(SplitOp[T]{}.links))
	if op != nil {
		op.state = consumerIdle
	}
	return op
}

// splitReceiver is the receiver of s, and its environment.
type splitReceiver[T any] sharedOperation[T]

func (s *splitReceiver[T]) SetValue(v T) { (*sharedOperation[T])(s).complete(CompletionValue(v)) }
func (s *splitReceiver[T]) SetError(err error) {
	(*sharedOperation[T])(s).complete(CompletionError[T](err))
}
func (s *splitReceiver[T]) SetStopped()           { (*sharedOperation[T])(s).complete(CompletionStopped[T]()) }
func (s *splitReceiver[T]) Env() Env              { return s }
func (s *splitReceiver[T]) StopToken() stop.Token { return s.source.Token() }
func (s *splitReceiver[T]) Scheduler() Scheduler  { return nil }
func (s *splitReceiver[T]) Value(any) any         { return nil }
