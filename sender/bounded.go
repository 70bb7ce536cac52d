package sender

import (
	"sync/atomic"

	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// Bounded is for those who write algorithms with many children: it starts the children of a Group in order,
// at most so many of them at once, each when there is room for it: where an earlier one completed, or
// where one is being started at that moment. However many complete at once, the stack does not grow. It
// is part of the operation state; the zero Bounded is ready.
type Bounded struct {
	group  *Group
	skip   Skipper
	starts []Operation
	next   int          // the first that has not been started; of whoever starts them
	room   atomic.Int32 // for how many more there is room
}

// Skipper is the operation that a Bounded belongs to.
type Skipper interface {
	// Skip lets a child that will not be started count as one that completed stopped, but for
	// Group.Leave, which Bounded calls.
	Skip()
}

// Start starts up to bound of the children. g's Begin has been told of len(starts) + 1 of them: Start is the
// one that is too many, and leaves. Once stop has been requested, those that are left are skipped.
func (b *Bounded) Start(g *Group, op Skipper, starts []Operation, bound int) {
	b.group, b.skip, b.starts, b.next = g, op, starts, 0
	b.room.Store(0)
	// A function of the user's may end this frame by runtime.Goexit, and run's.
	returned := false
	defer aftergoexit.Run(&returned, g.Leave)
	b.run(min(bound, len(starts)))
	returned = true
	g.Leave()
}

// Left says that a child has completed. It is called before the child's Group.Leave.
func (b *Bounded) Left() { b.run(1) }

// run starts as many children as there is room for, unless somebody is doing so, who then does it.
func (b *Bounded) run(room int) {
	if room == 0 || b.room.Add(int32(room)) != int32(room) {
		return
	}
	b.startAll()
}

// startAll starts children while there is room.
func (b *Bounded) startAll() {
	returned := false
	defer aftergoexit.Run(&returned, func() {
		if b.room.Add(-1) != 0 {
			b.startAll()
		}
	})
	for {
		b.startNext()
		if b.room.Add(-1) == 0 {
			returned = true
			return
		}
	}
}

func (b *Bounded) startNext() {
	for b.next < len(b.starts) {
		b.next++
		if !b.group.StopToken().StopRequested() {
			b.starts[b.next-1].Start()
			return
		}
		b.skip.Skip()
		b.group.Leave()
	}
}
