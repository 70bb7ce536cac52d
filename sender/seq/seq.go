package seq

import "github.com/reactord/reactord/sender"

// Receiver consumes a sequence: SetNext any number of times, one call at a time, and then exactly one
// of the three completions, not before SetNext has returned. After that completion nothing more is
// called.
//
// An item belongs to the receiver from the moment SetNext is called; one that carries a resource (a
// descriptor, a lent buffer) must be let go of by it.
//
// Source: stdexec's sequence senders (set_next), reduced to items that are consumed inside SetNext.
type Receiver[T any] interface {
	sender.Receiver[struct{}]
	SetNext(item T)
}

// Sequence is a sender of many items; O is its operation state. The rules of sender.Sender hold.
type Sequence[T, O any] interface {
	Connect(op *O, r Receiver[T]) sender.Operation
}
