package sender

import (
	"sync"

	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// Split makes a sender that any number of consumers can connect and start, at once and later. s runs
// once, when the first of them is started; all of them complete with what it completes with, those that
// are waiting where s does, later ones inside Start. The value is shared.
//
// A consumer that is asked to stop leaves: it completes stopped at once, on the thread that asks. But
// the last that waits does not leave; it asks s to stop and waits for it, so that s never outlives
// those who wait for it. Who comes to it then gets what s ends with. A consumer that was asked to stop
// before Start completes stopped and does not start s.
//
// s belongs to none of the consumers, so its environment has no scheduler and answers no queries.
//
// Split allocates the operation state of s and what the consumers share, at once. Connect and Start
// allocate nothing, and take a lock for a few instructions.
//
// Source: P2300R9 [exec.split], which stops s as soon as any consumer is asked to stop.
func Split[T, O any, S Sender[T, O]](s S) SplitSender[T] {
	x := new(splitState[T, O])
	x.start = s.Connect(&x.child, (*splitReceiver[T])(&x.split))
	return SplitSender[T]{&x.split}
}

// SplitSender is what Split returns. Copies of it are the same.
type SplitSender[T any] struct{ split *split[T] }

// SplitOp is the operation state of a consumer.
type SplitOp[T any] struct {
	split      *split[T]
	r          Receiver[T]
	onStop     stop.Callback
	next, prev *SplitOp[T] // guarded by split.mu, as the rest is
	waiting    bool        // it is in split's list
	asked      bool        // to stop, before it was
}

// splitState is what Split allocates.
type splitState[T, O any] struct {
	split[T]
	child O
}

// split is what the consumers share.
type split[T any] struct {
	start   Operation   // the operation of s
	source  stop.Source // asks s to stop
	mu      sync.Mutex
	head    *SplitOp[T] // waiting
	started bool
	done    bool
	result  result[T] // once done
}

// Connect implements Sender.
func (s SplitSender[T]) Connect(op *SplitOp[T], r Receiver[T]) Operation {
	op.split, op.r = s.split, r
	return op
}

// Start implements Operation.
func (op *SplitOp[T]) Start() {
	s := op.split
	op.asked = false
	op.onStop.Register(op.r.Env().StopToken(), op)
	step()
	s.mu.Lock()
	if op.asked || s.done {
		x := s.result
		if op.asked {
			x = result[T]{}
		}
		s.mu.Unlock()
		op.onStop.Deregister()
		x.deliver(op.r)
		return
	}
	s.link(op)
	first := !s.started
	s.started = true
	s.mu.Unlock()
	step() // op may complete here
	if first {
		s.start.Start()
	}
}

// OnStop makes op leave, or asks s to stop if it is the last.
func (op *SplitOp[T]) OnStop() {
	s := op.split
	step()
	s.mu.Lock()
	if !op.waiting {
		op.asked = true // Start will see it, or s has completed
		s.mu.Unlock()
		return
	}
	if s.head == op && op.next == nil {
		s.mu.Unlock()
		step()
		s.source.RequestStop() // op may complete in here
		return
	}
	s.unlink(op)
	s.mu.Unlock()
	step()
	op.onStop.Deregister() // returns at once, and frees op
	op.r.SetStopped()
}

// link and unlink are called with mu held.
func (s *split[T]) link(op *SplitOp[T]) {
	op.waiting = true
	op.prev, op.next = nil, s.head
	if s.head != nil {
		s.head.prev = op
	}
	s.head = op
}

func (s *split[T]) unlink(op *SplitOp[T]) {
	op.waiting = false
	if op.prev == nil {
		s.head = op.next
	} else {
		op.prev.next = op.next
	}
	if op.next != nil {
		op.next.prev = op.prev
	}
	op.next, op.prev = nil, nil
}

// complete gives the result to everybody who waits, one by one: each may be asked to stop, and leave,
// until its turn comes.
func (s *split[T]) complete(x result[T]) {
	s.mu.Lock()
	s.done, s.result = true, x
	s.mu.Unlock()
	s.completeAll(x)
}

func (s *split[T]) completeAll(x result[T]) {
	// A function of a consumer's may end this frame by runtime.Goexit.
	returned := false
	defer aftergoexit.Run(&returned, func() { s.completeAll(x) })
	s.mu.Lock()
	for op := s.head; op != nil; op = s.head {
		s.unlink(op)
		s.mu.Unlock()
		step()
		op.onStop.Deregister()
		x.deliver(op.r)
		s.mu.Lock()
	}
	s.mu.Unlock()
	returned = true
}

// splitReceiver is the receiver of s, and its environment.
type splitReceiver[T any] split[T]

func (s *splitReceiver[T]) SetValue(v T)          { (*split[T])(s).complete(valueOf(v)) }
func (s *splitReceiver[T]) SetError(err error)    { (*split[T])(s).complete(errorOf[T](err)) }
func (s *splitReceiver[T]) SetStopped()           { (*split[T])(s).complete(result[T]{}) }
func (s *splitReceiver[T]) Env() Env              { return s }
func (s *splitReceiver[T]) StopToken() stop.Token { return s.source.Token() }
func (s *splitReceiver[T]) Scheduler() Scheduler  { return nil }
func (s *splitReceiver[T]) Value(any) any         { return nil }
