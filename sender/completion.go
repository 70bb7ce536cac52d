package sender

import "unsafe"

// Completion says where and when a sender completes. Each says more than the one before: what
// completes Inline is Affine, and what is Affine completes somewhere.
//
// Source: P3206R0 (a sender query for completion behaviour), stdexec's completion behaviours.
type Completion uint8

// The completions.
const (
	Anywhere Completion = iota // on any thread, inside Start or later
	Affine                     // on the execution resource where it was started, inside Start or later
	Inline                     // inside Start
)

// String is "anywhere", "affine" or "inline".
func (c Completion) String() string {
	switch c {
	case Inline:
		return "inline"
	case Affine:
		return "affine"
	default:
		return "anywhere"
	}
}

// Completer is a sender that knows its Completion: it, or a pointer to it, has this method. A
// Scheduler may have it too, and tells by it how Schedule on it completes. An algorithm's is computed
// from those of its children.
//
// The zero value of a sender's type answers what holds for every value of the type: that is how
// algorithms ask about senders that do not exist yet.
type Completer interface {
	Completion() Completion
}

// CompletionOf is what *s says, or Anywhere if it does not say. It takes a pointer so that asking does
// not allocate.
func CompletionOf[S any](s *S) Completion {
	if c, ok := any(s).(Completer); ok {
		return c.Completion()
	}
	return Anywhere
}

// completionOn is how Schedule(sch) completes.
func completionOn(sch Scheduler) Completion {
	if c, ok := sch.(Completer); ok {
		return c.Completion()
	}
	return Anywhere
}

// completionOfType is what holds for every sender of type S: what its zero value says.
func completionOfType[S any]() Completion {
	var s S
	if unsafe.Sizeof(s) <= unsafe.Sizeof(zeros) {
		return CompletionOf((*S)(unsafe.Pointer(&zeros)))
	}
	return CompletionOf(new(S))
}

// zeros is the zero value of any sender of common size, so that asking it does not allocate. Nobody
// writes to it.
var zeros [64]uint64

// Completion implements Completer: that of its scheduler.
func (s *ScheduleSender) Completion() Completion { return completionOn(s.sch) }
