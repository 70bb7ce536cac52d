package sched

import "github.com/reactord/reactord/sender"

// Any is a scheduler of any type. An interface is that too; in addition, two Any are equal if they stand for the same
// resource, however often it has been wrapped, and the zero Any works: it is [Inline].
//
// Source: the task_scheduler of P3552R3 [exec.task.scheduler].
type Any struct{ s sender.Scheduler }

// AnyOf returns s as an [Any]. s must be comparable, as every Scheduler should be. nil is [Inline].
func AnyOf(s sender.Scheduler) Any {
	switch s := s.(type) {
	case nil:
		return Any{}
	case Inline:
		return Any{}
	case Any:
		return s
	default:
		return Any{s}
	}
}

// Unwrap returns the scheduler that a stands for.
func (a Any) Unwrap() sender.Scheduler {
	if a.s == nil {
		return Inline{}
	}
	return a.s
}

// Equal reports whether a stands for the same resource as s. Two Any can be compared by == too.
func (a Any) Equal(s sender.Scheduler) bool { return a == AnyOf(s) }

// Timed returns the scheduler as a timed one; ok is false if it is not timed.
func (a Any) Timed() (s sender.TimedScheduler, ok bool) {
	s, ok = a.s.(sender.TimedScheduler)
	return s, ok
}

// Enqueue implements [sender.Scheduler].
func (a Any) Enqueue(w *sender.Work) { a.Unwrap().Enqueue(w) }

// CompletionBehavior implements [sender.CompletionDescriber]: that of the scheduler.
func (a Any) CompletionBehavior() sender.CompletionBehavior {
	if c, ok := a.Unwrap().(sender.CompletionDescriber); ok {
		return c.CompletionBehavior()
	}
	return sender.Anywhere
}
