package sender

import (
	"sync"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// CountingScope counts the work that was spawned into it, so that somebody can wait for all of it. The
// zero value is ready. It must not be copied, and must be joined before it is forgotten; until then it
// outlives its work. All methods may be called from any thread. It allocates its stop source.
//
// Its states, and what leads from one to another:
//
//	unused          associate: open            close: unusedAndClosed   join: joined
//	open            associate: open            close: closed            join: openAndJoining
//	openAndJoining  associate: openAndJoining  close: closedAndJoining  last one leaves: joined
//	closed                                                              join: closedAndJoining
//	closedAndJoining                                                    last one leaves: joined
//	unusedAndClosed                                                     join: joined
//	joined
//
// In open and closed with nothing left to wait for, join leads to joined at once. Work can be
// associated where it says so, and nowhere else. What is joined stays so.
//
// Source: P3149R9 (async_scope), [exec.scope.counting]; the states are those of its specification.
type CountingScope struct {
	// OnError is called with the error of spawned work, where that completes. nil: it panics, as in
	// StartDetached. Set it before anything is spawned.
	OnError func(error)

	mu      sync.Mutex
	state   scopeState
	count   int          // associations
	joiners *JoinOp      // started, not completed
	source  *stop.Source // see stopSource
}

// scopeState is which state a scope is in.
type scopeState uint8

const (
	unused scopeState = iota
	open
	openAndJoining
	closed
	closedAndJoining
	unusedAndClosed
	joined
)

// RequestStop asks the work in the scope to stop, and what is spawned later.
func (s *CountingScope) RequestStop() {
	s.mu.Lock()
	source := s.stopSource()
	s.mu.Unlock()
	step()
	source.RequestStop() // the scope may be joined in here, and be forgotten
}

// stopSource is what asks the work to stop, made when it is first needed. It lies outside of the scope
// because RequestStop may still be at work in it when the last work has left. It is called with mu held.
func (s *CountingScope) stopSource() *stop.Source {
	if s.source == nil {
		s.source = new(stop.Source)
	}
	return s.source
}

// Close makes the scope take no more work.
func (s *CountingScope) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state {
	case unused:
		s.state = unusedAndClosed
	case open:
		s.state = closed
	case openAndJoining:
		s.state = closedAndJoining
	}
}

// associate counts one more, or returns false if the scope takes no more.
func (s *CountingScope) associate() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state {
	case unused:
		s.state = open
	case open, openAndJoining:
	default:
		return false
	}
	s.count++
	s.stopSource()
	return true
}

// leave counts one less. The caller must not touch the scope after it.
func (s *CountingScope) leave() {
	step()
	s.mu.Lock()
	s.count--
	if assert.Enabled && s.count < 0 {
		panic("sender: more work left a scope than was in it")
	}
	if s.count > 0 || s.state != openAndJoining && s.state != closedAndJoining {
		s.mu.Unlock()
		return
	}
	s.state = joined
	first := s.joiners
	s.joiners = nil
	s.mu.Unlock()
	step()
	completeAll(first)
}

// completeAll completes those who wait, also if a function of theirs ends this frame by runtime.Goexit.
func completeAll(op *JoinOp) {
	returned := false
	defer aftergoexit.Run(&returned, func() { completeAll(op) })
	for op != nil {
		joiner := op
		op = op.next
		joiner.complete()
	}
	returned = true
}

// join adds op to those who wait, or returns false if there is nothing to wait for.
func (s *CountingScope) join(op *JoinOp) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == 0 {
		s.state = joined
		return false
	}
	switch s.state {
	case open:
		s.state = openAndJoining
	case closed:
		s.state = closedAndJoining
	}
	op.next, s.joiners = s.joiners, op
	return true
}

// scopeEnv is the environment of spawned work.
type scopeEnv CountingScope

func (s *scopeEnv) StopToken() stop.Token { return s.source.Token() }
func (s *scopeEnv) Scheduler() Scheduler  { return nil }
func (s *scopeEnv) Value(any) any         { return nil }

// Join completes when no work is left in the scope, which is joined from then on. It completes inside
// Start if none was left before, otherwise on the scheduler of its environment, or, if that has none,
// where the last work completes; stopped if that scheduler is shutting down, and with the reason if it
// refuses the work: the scope is joined all the same.
//
// It does not close the scope: work can be spawned until the last has left. It takes no notice of stop
// requests; RequestStop is for that. It allocates nothing.
func (s *CountingScope) Join() JoinSender { return JoinSender{s} }

// JoinSender is what Join returns.
type JoinSender struct{ scope *CountingScope }

// JoinOp is the operation state of Join.
type JoinOp struct {
	scope *CountingScope
	next  *JoinOp // in scope.joiners
	r     Receiver[struct{}]
	work  Work
}

// Connect implements Sender.
func (s JoinSender) Connect(op *JoinOp, r Receiver[struct{}]) Operation {
	op.scope, op.r = s.scope, r
	op.work = Work{Runner: (*joinRunner)(op)}
	return op
}

// Start implements Operation.
func (op *JoinOp) Start() {
	if !op.scope.join(op) {
		op.r.SetValue(struct{}{})
	}
}

// complete is called by the last to leave.
func (op *JoinOp) complete() {
	op.next = nil
	if sch := op.r.Env().Scheduler(); sch != nil {
		sch.Enqueue(&op.work)
		return
	}
	op.r.SetValue(struct{}{})
}

// joinRunner is the scheduler's view of the operation.
type joinRunner JoinOp

func (op *joinRunner) Run()                 { op.r.SetValue(struct{}{}) }
func (op *joinRunner) Abandon(reason error) { Abandon(op.r, reason) }
func (op *joinRunner) Continues() bool      { return true }
