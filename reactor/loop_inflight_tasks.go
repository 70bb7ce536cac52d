//go:build linux

package reactor

import (
	"fmt"

	"github.com/reactord/reactord/sender/task"
)

// maxTasksListed bounds the tasks that InFlight lists: each is resumed for a moment, so that it looks at its stack.
const maxTasksListed = 1000

// tasksInFlight lists the tasks of the loop, the oldest first. If a task awaits an operation of the loop, it is listed
// with the descriptor and the age of that.
func (l *Loop) tasksInFlight() (all []InFlight) {
	l.coroutines.Waiting(func(w task.Waiting) bool {
		f := InFlight{Operation: "task", Fd: -1, State: "waits for " + w.For}
		if w.Operation == nil {
			f.State = w.For
		}
		if w.Where.File != "" {
			f.Where = fmt.Sprintf("%s:%d", w.Where.File, w.Where.Line)
		}
		if o, ok := w.Operation.(interface{ inSlot() uint64 }); ok {
			if s := l.slots.find(o.inSlot()); s != nil {
				awaited := s.describe("", l.sys.Clock())
				f.Fd, f.Age = awaited.Fd, awaited.Age
			}
		}
		all = append(all, f)
		return len(all) < maxTasksListed
	})
	if more := l.coroutines.Tasks() - len(all); len(all) == maxTasksListed && more > 0 {
		all = append(all, InFlight{Operation: "task", Fd: -1, State: fmt.Sprintf("%d more are not listed", more)})
	}
	return all
}

// inSlot returns the id of the operation in the slot table.
func (o *op) inSlot() uint64 { return o.id }

func (o *timed) inSlot() uint64 { return o.id }
