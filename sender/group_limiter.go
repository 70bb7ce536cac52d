package sender

import (
	"sync/atomic"

	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// Limiter is a building block for algorithms with many children: it starts the children of a [Group] in order, and
// limits how many are in flight. When a child completes, the next one is started on the thread of that completion;
// or, if another thread is starting children at that moment, by that thread. The stack does not grow, however many
// children complete inside Start. It is a field of the operation state. The zero Limiter is ready.
type Limiter struct {
	group   *Group
	handler SkipHandler
	starts  []Operation
	next    int          // index of the first child that has not been started; only the starting thread uses it
	room    atomic.Int32 // how many more children may be started; not 0: a thread is starting them
}

// SkipHandler is the operation that a [Limiter] belongs to.
type SkipHandler interface {
	// OnSkip counts a child that is not started because stop was requested. It is to count as a child that completed
	// stopped, except that the Limiter calls [Group.Arrive].
	OnSkip()
}

// Start starts the first limit children; 0 or less: all of them. The group's Begin must have been called with
// len(starts) + 1 children: Start itself is the additional one, and arrives when it is done. After a stop request the
// children that have not been started are skipped.
func (l *Limiter) Start(g *Group, h SkipHandler, starts []Operation, limit int) {
	l.group, l.handler, l.starts, l.next = g, h, starts, 0
	l.room.Store(0)
	if limit <= 0 || limit > len(starts) {
		limit = len(starts)
	}
	l.startThenArrive(limit)
}

// Arrive starts the next child after one has completed, and calls [Group.Arrive].
func (l *Limiter) Arrive() { l.startThenArrive(1) }

// startThenArrive makes room for n more children. It calls Group.Arrive also if a user's function ends this frame by
// runtime.Goexit.
func (l *Limiter) startThenArrive(n int) {
	g := l.group
	returned := false
	defer aftergoexit.Run(&returned, g.Arrive)
	l.makeRoom(n)
	returned = true
	g.Arrive()
}

// makeRoom starts n more children, or leaves that to the thread that is starting children now.
func (l *Limiter) makeRoom(n int) {
	if n == 0 || l.room.Add(int32(n)) != int32(n) {
		return
	}
	l.startAll()
}

// startAll starts children while there is room.
func (l *Limiter) startAll() {
	returned := false
	defer aftergoexit.Run(&returned, func() {
		if l.room.Add(-1) != 0 {
			l.startAll()
		}
	})
	for {
		l.startNext()
		if l.room.Add(-1) == 0 {
			returned = true
			return
		}
	}
}

// startNext starts the next child. After a stop request it skips all that are left.
func (l *Limiter) startNext() {
	for l.next < len(l.starts) {
		l.next++
		if !l.group.StopToken().StopRequested() {
			l.starts[l.next-1].Start()
			return
		}
		l.handler.OnSkip()
		l.group.Arrive()
	}
}
