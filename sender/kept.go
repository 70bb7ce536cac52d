package sender

// kept is a sender that an operation connects while it runs. It hides the sender's type: an operation
// state that named that too would double the length of its own type's name.
type kept[T, O any] interface {
	CompletionDescriber
	connect(op *O, r Receiver[T]) Operation
}

// keep copies s into the room that before has, or allocates it: a copy for each operation state, unless
// that was connected to a sender of the same type before.
func keep[T, O any, S Sender[T, O]](before kept[T, O], s S) kept[T, O] {
	room, ok := before.(*keptSender[T, O, S])
	if !ok {
		room = new(keptSender[T, O, S])
	}
	room.s = s
	return room
}

type keptSender[T, O any, S Sender[T, O]] struct{ s S }

func (k *keptSender[T, O, S]) connect(op *O, r Receiver[T]) Operation { return k.s.Connect(op, r) }
func (k *keptSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&k.s)
}
