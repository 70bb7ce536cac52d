package sender

import "unsafe"

// CompletionBehavior says where and when a sender completes. They are ordered: a sender that is [Inline] is also
// [Affine], and one that is Affine is also [Anywhere].
//
// Source: P3206R0 (a sender query for completion behaviour), stdexec's completion behaviours.
type CompletionBehavior uint8

// The completion behaviors.
const (
	Anywhere CompletionBehavior = iota // on any thread, inside Start or later
	Affine                             // on the execution resource where it was started, inside Start or later
	Inline                             // inside Start
)

// String returns "anywhere", "affine" or "inline".
func (c CompletionBehavior) String() string {
	switch c {
	case Inline:
		return "inline"
	case Affine:
		return "affine"
	default:
		return "anywhere"
	}
}

// CompletionDescriber is a sender that knows its [CompletionBehavior]. The sender, or a pointer to it, has this
// method. A [Scheduler] may have it too: it then says how [Schedule] on it completes. An algorithm computes its own
// from those of its children.
//
// The zero value of a sender's type must answer what holds for every value of the type: algorithms ask it about
// senders that do not exist yet.
type CompletionDescriber interface {
	CompletionBehavior() CompletionBehavior
}

// CompletionBehaviorOf returns what *s says, or [Anywhere] if it says nothing. It takes a pointer so that it does not
// allocate.
func CompletionBehaviorOf[S any](s *S) CompletionBehavior {
	if c, ok := any(s).(CompletionDescriber); ok {
		return c.CompletionBehavior()
	}
	return Anywhere
}

// schedulerBehavior returns how Schedule(sch) completes.
func schedulerBehavior(sch Scheduler) CompletionBehavior {
	if c, ok := sch.(CompletionDescriber); ok {
		return c.CompletionBehavior()
	}
	return Anywhere
}

// completionBehaviorOfType asks the zero value of S, whose answer holds for every sender of the type.
func completionBehaviorOfType[S any]() CompletionBehavior {
	var s S
	if unsafe.Sizeof(s) <= unsafe.Sizeof(zeros) {
		return CompletionBehaviorOf((*S)(unsafe.Pointer(&zeros)))
	}
	return CompletionBehaviorOf(new(S))
}

// zeros is the zero value of any sender of common size, so that asking it does not allocate. It is never written to.
var zeros [64]uint64

// CompletionBehavior implements [CompletionDescriber]: that of its scheduler.
func (s *ScheduleSender) CompletionBehavior() CompletionBehavior { return schedulerBehavior(s.sch) }
