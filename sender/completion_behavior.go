package sender

import "unsafe"

// CompletionBehavior says where and when a sender completes. Each says more than the one before: what
// completes Inline is Affine, and what is Affine completes somewhere.
//
// Source: P3206R0 (a sender query for completion behaviour), stdexec's completion behaviours.
type CompletionBehavior uint8

// The completions.
const (
	Anywhere CompletionBehavior = iota // on any thread, inside Start or later
	Affine                             // on the execution resource where it was started, inside Start or later
	Inline                             // inside Start
)

// String is "anywhere", "affine" or "inline".
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

// CompletionDescriber is a sender that knows its CompletionBehavior: it, or a pointer to it, has this method. A
// Scheduler may have it too, and tells by it how Schedule on it completes. An algorithm's is computed
// from those of its children.
//
// The zero value of a sender's type answers what holds for every value of the type: that is how
// algorithms ask about senders that do not exist yet.
type CompletionDescriber interface {
	CompletionBehavior() CompletionBehavior
}

// CompletionBehaviorOf is what *s says, or Anywhere if it does not say. It takes a pointer so that asking does
// not allocate.
func CompletionBehaviorOf[S any](s *S) CompletionBehavior {
	if c, ok := any(s).(CompletionDescriber); ok {
		return c.CompletionBehavior()
	}
	return Anywhere
}

// completionOn is how Schedule(sch) completes.
func completionOn(sch Scheduler) CompletionBehavior {
	if c, ok := sch.(CompletionDescriber); ok {
		return c.CompletionBehavior()
	}
	return Anywhere
}

// completionOfType is what holds for every sender of type S: what its zero value says.
func completionOfType[S any]() CompletionBehavior {
	var s S
	if unsafe.Sizeof(s) <= unsafe.Sizeof(zeros) {
		return CompletionBehaviorOf((*S)(unsafe.Pointer(&zeros)))
	}
	return CompletionBehaviorOf(new(S))
}

// zeros is the zero value of any sender of common size, so that asking it does not allocate. Nobody
// writes to it.
var zeros [64]uint64

// CompletionBehavior implements CompletionDescriber: that of its scheduler.
func (s *ScheduleSender) CompletionBehavior() CompletionBehavior { return completionOn(s.sch) }
