package sender

// StopWhen returns a sender that completes as s does, but requests s to stop when trigger completes, on whichever
// channel. When s completes first, trigger is requested to stop. s is started before trigger, and both are waited
// for.
//
// Completion: where the last of the two completes, with the completion of s. What trigger completes with is dropped.
//
// Cancellation: a stop request is forwarded to both. If stop was requested before Start, neither is started and it
// completes stopped.
//
// Source: libunifex's stop_when.
func StopWhen[T, U, O1, O2 any, S1 Sender[T, O1], S2 Sender[U, O2]](
	s S1, trigger S2,
) StopWhenSender[T, U, O1, O2, S1, S2] {
	return StopWhenSender[T, U, O1, O2, S1, S2]{s, trigger}
}

// StopWhenSender is the sender that [StopWhen] returns.
type StopWhenSender[T, U, O1, O2 any, S1 Sender[T, O1], S2 Sender[U, O2]] struct {
	s       S1
	trigger S2
}

// StopWhenOp is the operation state of [StopWhenSender].
type StopWhenOp[T, U, O1, O2 any] struct {
	state   stopWhenState[T]
	child   O1
	trigger O2
	starts  [2]Operation
}

// Connect implements [Sender].
func (s StopWhenSender[T, U, O1, O2, S1, S2]) Connect(op *StopWhenOp[T, U, O1, O2], r Receiver[T]) Operation {
	op.state.r = r
	op.starts[0] = s.s.Connect(&op.child, (*sourceReceiver[T])(&op.state))
	op.starts[1] = s.trigger.Connect(&op.trigger, (*triggerReceiver[T, U])(&op.state))
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *StopWhenSender[T, U, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), CompletionBehaviorOf(&s.trigger))
}

// Start implements [Operation].
func (op *StopWhenOp[T, U, O1, O2]) Start() {
	if op.state.begin() {
		startAll(op.starts[:])
	}
}

// stopWhenState is the state that StopWhen and Timeout share: a Group of a source, whose completion is delivered, and a
// trigger. They differ in the receiver of the trigger. It is not generic in the operation states.
type stopWhenState[T any] struct {
	group  Group
	r      Receiver[T]
	result Completion[T] // the source's
	part   error         // not nil: the value is a part, see PartialReceiver
	cause  error         // not nil: the error that replaces stopped
}

// begin calls Group.Begin for the two children.
func (x *stopWhenState[T]) begin() bool {
	x.result.Channel, x.part, x.cause = OnStopped, nil, nil
	return x.group.Begin(x, x.r.Env(), 2)
}

// OnJoined completes the operation. It keeps nothing reachable.
func (x *stopWhenState[T]) OnJoined() {
	c, part := x.result, x.part
	x.result, x.part = Completion[T]{}, nil
	switch {
	case part != nil && x.cause != nil:
		c = CompletionError[T](&PartialError[T]{c.Value, x.cause})
	case part != nil:
		SetPartial(x.r, c.Value, part)
		return
	case c.Channel == OnStopped && x.cause != nil:
		c = CompletionError[T](x.cause)
	}
	c.Deliver(x.r)
}

// stopOther requests the other of the two to stop, and arrives.
func (x *stopWhenState[T]) stopOther() { x.group.requestStopThen(x.group.Arrive) }

// sourceReceiver is the receiver of the source.
type sourceReceiver[T any] stopWhenState[T]

func (x *sourceReceiver[T]) complete(c Completion[T]) {
	x.result = c
	(*stopWhenState[T])(x).stopOther()
}

func (x *sourceReceiver[T]) SetValue(v T)       { x.complete(CompletionValue(v)) }
func (x *sourceReceiver[T]) SetError(err error) { x.complete(childFailure[T](&x.group, err)) }
func (x *sourceReceiver[T]) SetStopped()        { x.complete(CompletionStopped[T]()) }
func (x *sourceReceiver[T]) Env() Env           { return &x.group }

// SetPartial implements [PartialReceiver].
func (x *sourceReceiver[T]) SetPartial(v T, err error) {
	x.part = err
	x.complete(CompletionValue(v))
}

// triggerReceiver is the receiver of StopWhen's trigger.
type triggerReceiver[T, U any] stopWhenState[T]

func (x *triggerReceiver[T, U]) SetValue(U)     { (*stopWhenState[T])(x).stopOther() }
func (x *triggerReceiver[T, U]) SetError(error) { (*stopWhenState[T])(x).stopOther() }
func (x *triggerReceiver[T, U]) SetStopped()    { (*stopWhenState[T])(x).stopOther() }
func (x *triggerReceiver[T, U]) Env() Env       { return &x.group }
