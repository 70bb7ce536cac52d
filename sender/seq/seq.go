package seq

import "github.com/reactord/reactord/sender"

// Receiver consumes a sequence: SetNext is called any number of times, one call at a time, and then exactly one of
// the three completions, after the last SetNext has returned. Nothing is called after the completion.
//
// The receiver owns an item from the call of SetNext on. If the item holds a resource, such as a descriptor or a
// leased buffer, the receiver must release it.
//
// Source: stdexec's sequence senders (set_next), reduced to items that are consumed inside SetNext.
type Receiver[T any] interface {
	sender.Receiver[struct{}]
	SetNext(item T)
}

// Sequence is a sender of many items; O is its operation state. The rules of [sender.Sender] hold.
type Sequence[T, O any] interface {
	Connect(op *O, r Receiver[T]) sender.Operation
}
