package sched

import "github.com/reactord/reactord/sender"

// Any is a scheduler of any type: the form in which a task keeps its own. An interface does the same;
// what Any adds is that equality is of the resources, however often they have been wrapped, and that the
// zero value works: it is Inline. It holds no memory of its own.
//
// Source: the task_scheduler of P3552R3 [exec.task.scheduler].
type Any struct{ s sender.Scheduler }

// AnyOf is s as an Any. s must be comparable, as a Scheduler should be; nil is Inline.
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

// Unwrap is the scheduler itself.
func (a Any) Unwrap() sender.Scheduler {
	if a.s == nil {
		return Inline{}
	}
	return a.s
}

// Equal tells whether a is of the same resource as s, an Any or not. Two Any are compared by ==.
func (a Any) Equal(s sender.Scheduler) bool { return a == AnyOf(s) }

// Timed is the scheduler as a timed one, if it is.
func (a Any) Timed() (s sender.TimedScheduler, ok bool) {
	s, ok = a.s.(sender.TimedScheduler)
	return s, ok
}

// Enqueue implements sender.Scheduler.
func (a Any) Enqueue(w *sender.Work) { a.Unwrap().Enqueue(w) }

// CompletionBehavior implements sender.CompletionDescriber: that of the scheduler.
func (a Any) CompletionBehavior() sender.CompletionBehavior {
	if c, ok := a.Unwrap().(sender.CompletionDescriber); ok {
		return c.CompletionBehavior()
	}
	return sender.Anywhere
}
