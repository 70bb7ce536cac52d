package sender

import (
	"sync"

	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// CountingScope counts the work that has been spawned into it, so that a program can wait for all of it: see [Spawn],
// [SpawnFuture] and [CountingScope.Join]. It must outlive its work, so its memory is not reused before every Join has
// completed, and one of them with a value. The zero CountingScope is ready. It must not be copied. All methods may be
// called from any thread.
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
// If no work is left in open or closed, Join leads to joined immediately. joined is final. When the last Join that
// waits is stopped (see [JoinSender.Stoppable]), openAndJoining leads to open, and closedAndJoining to closed.
//
// Allocation: a stop source, when it is first needed.
//
// Source: P3149R9 (async_scope), [exec.scope.counting]. The states are the specification's.
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

// disassociate counts a unit of work as completed; the last one completes the joins. The caller must not touch the
// scope after it.
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
	for op := first; op != nil; op = op.next {
		op.state = joinerJoined
	}
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

// join puts op on the list of Joins. It returns false if the scope is joined already, or op was stopped.
func (s *CountingScope) join(op *JoinOp) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if op.state == joinerStopped {
		return false
	}
	if s.count == 0 {
		s.state, op.state = scopeJoined, joinerJoined
		return false
	}
	op.state = joinerWaiting
	switch s.state {
	case scopeOpen:
		s.state = scopeOpenAndJoining
	case scopeClosed:
		s.state = scopeClosedAndJoining
	}
	op.next, s.joiners = s.joiners, op
	return true
}

// leave takes op from the list of Joins because it is stopped. It returns false if it was not there.
func (s *CountingScope) leave(op *JoinOp) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := op.state
	if was == joinerJoined {
		return false
	}
	op.state = joinerStopped
	if was == joinerIdle {
		return false // join will see it
	}
	p := &s.joiners
	for *p != op {
		p = &(*p).next
	}
	*p = op.next
	switch {
	case s.joiners != nil:
	case s.state == scopeOpenAndJoining:
		s.state = scopeOpen
	case s.state == scopeClosedAndJoining:
		s.state = scopeClosed
	}
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
// Cancellation: stop requests are ignored, so that a program that is being stopped still waits for its work. Use
// [CountingScope.RequestStop] to end the work, or [JoinSender.Stoppable] to wait for a while only.
func (s *CountingScope) Join() JoinSender { return JoinSender{scope: s} }

// JoinSender is the sender that [CountingScope.Join] returns.
type JoinSender struct {
	scope     *CountingScope
	stoppable bool
}

// Stoppable makes it complete stopped when that is requested, on the thread of the request or on the scheduler of its
// environment. The scope is not joined then: its work continues, and has to be joined once more. [SyncWait] with a
// context that can be done makes a Join stoppable.
//
// It is no part of P3149.
func (s JoinSender) Stoppable() JoinSender {
	s.stoppable = true
	return s
}

// JoinOp is the operation state of [JoinSender].
type JoinOp struct {
	scope     *CountingScope
	r         Receiver[struct{}]
	work      Work
	onStop    stop.Callback
	stoppable bool

	// guarded by scope.mu, from Start until it is taken from the list
	next  *JoinOp // in scope.joiners
	state joinerState
}

// joinerState is the state of a JoinOp.
//
//	idle → waiting      Start put it on the scope's list
//	idle → stopped      stop was requested before that: Start completes it
//	waiting → joined    the last work has completed
//	waiting → stopped   stop was requested: it was taken from the list
type joinerState uint8

const (
	joinerIdle joinerState = iota
	joinerWaiting
	joinerJoined
	joinerStopped
)

// Connect implements [Sender].
func (s JoinSender) Connect(op *JoinOp, r Receiver[struct{}]) Operation {
	op.scope, op.r, op.stoppable = s.scope, r, s.stoppable
	op.work = Work{Runner: (*joinRunner)(op)}
	return op
}

// Start implements [Operation].
func (op *JoinOp) Start() {
	op.state = joinerIdle
	if op.stoppable {
		op.onStop.Register(op.r.Env().StopToken(), op)
	}
	step()
	if op.scope.join(op) {
		return // another thread may have completed it
	}
	op.onStop.Deregister()
	op.deliver()
}

// OnStop implements [stop.Handler].
func (op *JoinOp) OnStop() {
	step()
	if op.scope.leave(op) {
		op.complete()
	}
}

// complete delivers on the receiver's scheduler, after the last work has completed or stop was requested.
func (op *JoinOp) complete() {
	op.next = nil
	op.onStop.Deregister()
	step()
	if sch := op.r.Env().Scheduler(); sch != nil {
		sch.Enqueue(&op.work)
		return
	}
	op.deliver()
}

func (op *JoinOp) deliver() {
	if op.state == joinerStopped {
		op.r.SetStopped()
	} else {
		op.r.SetValue(struct{}{})
	}
}

// joinRunner is the work that the scheduler runs.
type joinRunner JoinOp

func (op *joinRunner) Run()                  { (*JoinOp)(op).deliver() }
func (op *joinRunner) Abandon(reason error)  { CompleteAbandoned(op.r, reason) }
func (op *joinRunner) ExemptFromLimit() bool { return true }
