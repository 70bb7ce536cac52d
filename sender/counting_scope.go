package sender

import (
	"sync"

	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// CountingScope counts the work that has been spawned into it, so that a program can wait for all of it: see [Spawn],
// [SpawnFuture] and [CountingScope.Join]. It must outlive its work, so it must be joined before its memory is reused.
// The zero CountingScope is ready. It must not be copied. All methods may be called from any thread.
//
// Its states and transitions:
//
//	state             Spawn            Close             Join              last work completes
//	unused            open             unusedAndClosed   joined
//	open              open             closed            openAndJoining
//	openAndJoining    openAndJoining   closedAndJoining                    joined
//	closed            refused                            closedAndJoining
//	closedAndJoining  refused                                              joined
//	unusedAndClosed   refused                            joined
//	joined            refused
//
// If no work is left in open or closed, Join leads to joined immediately. joined is final.
//
// Allocation: a stop source, when it is first needed.
//
// Source: P3149R9 (async_scope), [exec.scope.counting]. The states are those of its specification.
type CountingScope struct {
	// OnError is called with the error of spawned work, where that work completes. If it is nil, the error panics, as
	// in [StartDetached]. Set it before the first Spawn.
	OnError func(error)

	mu      sync.Mutex
	state   scopeState
	count   int          // associations: work that has not completed
	joiners *JoinOp      // started, not completed
	source  *stop.Source // see stopSource
}

// scopeState is the state of a scope. See CountingScope.
type scopeState uint8

const (
	scopeUnused scopeState = iota
	scopeOpen
	scopeOpenAndJoining
	scopeClosed
	scopeClosedAndJoining
	scopeUnusedAndClosed
	scopeJoined
)

// RequestStop requests the work in the scope to stop, and also work that is spawned later.
func (s *CountingScope) RequestStop() {
	s.mu.Lock()
	source := s.stopSource()
	s.mu.Unlock()
	step()
	source.RequestStop() // the scope may become joined, and its memory may be reused, inside this call
}

// stopSource returns the stop source of the work. It is not part of the scope, because RequestStop may still run in
// it when the last work has completed and the scope's memory is reused. It is called with mu held.
func (s *CountingScope) stopSource() *stop.Source {
	if s.source == nil {
		s.source = new(stop.Source)
	}
	return s.source
}

// Close makes the scope refuse further work.
func (s *CountingScope) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state {
	case scopeUnused:
		s.state = scopeUnusedAndClosed
	case scopeOpen:
		s.state = scopeClosed
	case scopeOpenAndJoining:
		s.state = scopeClosedAndJoining
	}
}

// associate counts one more unit of work. It returns false if the scope refuses it.
func (s *CountingScope) associate() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state {
	case scopeUnused:
		s.state = scopeOpen
	case scopeOpen, scopeOpenAndJoining:
	default:
		return false
	}
	s.count++
	s.stopSource()
	return true
}

// disassociate is called when a unit of work has completed. The caller must not touch the scope after it.
func (s *CountingScope) disassociate() {
	step()
	s.mu.Lock()
	s.count--
	if s.count < 0 {
		panic("sender: more work of a scope completed than was spawned")
	}
	if s.count > 0 || s.state != scopeOpenAndJoining && s.state != scopeClosedAndJoining {
		s.mu.Unlock()
		return
	}
	s.state = scopeJoined
	first := s.joiners
	s.joiners = nil
	s.mu.Unlock()
	step()
	completeJoins(first)
}

// completeJoins completes the list of Joins that begins with op. It continues if a user's function ends this frame by
// runtime.Goexit.
func completeJoins(op *JoinOp) {
	returned := false
	defer aftergoexit.Run(&returned, func() { completeJoins(op) })
	for op != nil {
		joiner := op
		op = op.next
		joiner.complete()
	}
	returned = true
}

// join puts op on the list of Joins. It returns false if the scope is joined already.
func (s *CountingScope) join(op *JoinOp) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == 0 {
		s.state = scopeJoined
		return false
	}
	switch s.state {
	case scopeOpen:
		s.state = scopeOpenAndJoining
	case scopeClosed:
		s.state = scopeClosedAndJoining
	}
	op.next, s.joiners = s.joiners, op
	return true
}

// scopeEnv is the environment of spawned work.
type scopeEnv CountingScope

func (s *scopeEnv) StopToken() stop.Token { return s.source.Token() }
func (s *scopeEnv) Scheduler() Scheduler  { return nil }
func (s *scopeEnv) Value(any) any         { return nil }

// Join returns a sender that completes when no work is left in the scope. The scope is joined from then on. Join does
// not close the scope: work may be spawned until the last work has completed.
//
// Completion: inside Start if no work is left; otherwise on the scheduler of its environment or, if that has none,
// where the last work completes. If the scheduler abandons it, it completes stopped or with the reason: see [Runner].
// The scope is joined also in this case.
//
// Cancellation: stop requests are ignored. Use [CountingScope.RequestStop].
func (s *CountingScope) Join() JoinSender { return JoinSender{s} }

// JoinSender is the sender that [CountingScope.Join] returns.
type JoinSender struct{ scope *CountingScope }

// JoinOp is the operation state of [JoinSender].
type JoinOp struct {
	scope *CountingScope
	next  *JoinOp // in scope.joiners
	r     Receiver[struct{}]
	work  Work
}

// Connect implements [Sender].
func (s JoinSender) Connect(op *JoinOp, r Receiver[struct{}]) Operation {
	op.scope, op.r = s.scope, r
	op.work = Work{Runner: (*joinRunner)(op)}
	return op
}

// Start implements [Operation].
func (op *JoinOp) Start() {
	if !op.scope.join(op) {
		op.r.SetValue(struct{}{})
	}
}

// complete is called when the last work has completed.
func (op *JoinOp) complete() {
	op.next = nil
	if sch := op.r.Env().Scheduler(); sch != nil {
		sch.Enqueue(&op.work)
		return
	}
	op.r.SetValue(struct{}{})
}

// joinRunner is the work that the scheduler runs.
type joinRunner JoinOp

func (op *joinRunner) Run()                  { op.r.SetValue(struct{}{}) }
func (op *joinRunner) Abandon(reason error)  { CompleteAbandoned(op.r, reason) }
func (op *joinRunner) ExemptFromLimit() bool { return true }
