package sender

// StopWhen completes as s does, which is asked to stop when trigger completes, in whatever way; what
// the trigger completes with is dropped. When s completes first the trigger is asked to stop. Either
// way both are waited for. If stop was requested before Start, neither is started.
//
// s is started before trigger. A stop request is forwarded to both. It completes where the last of the
// two does. Nothing is allocated.
//
// Source: libunifex's stop_when.
func StopWhen[T, U, O1, O2 any, S1 Sender[T, O1], S2 Sender[U, O2]](
	s S1, trigger S2,
) StopWhenSender[T, U, O1, O2, S1, S2] {
	return StopWhenSender[T, U, O1, O2, S1, S2]{s, trigger}
}

// StopWhenSender is what StopWhen returns.
type StopWhenSender[T, U, O1, O2 any, S1 Sender[T, O1], S2 Sender[U, O2]] struct {
	s       S1
	trigger S2
}

// StopWhenOp is the operation state of StopWhen.
type StopWhenOp[T, U, O1, O2 any] struct {
	guard   guard[T]
	child   O1
	trigger O2
	starts  [2]Operation
}

// Connect implements Sender.
func (s StopWhenSender[T, U, O1, O2, S1, S2]) Connect(op *StopWhenOp[T, U, O1, O2], r Receiver[T]) Operation {
	op.guard.r = r
	op.starts[0] = s.s.Connect(&op.child, (*guardChild[T])(&op.guard))
	op.starts[1] = s.trigger.Connect(&op.trigger, (*stopTrigger[T, U])(&op.guard))
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *StopWhenSender[T, U, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), CompletionBehaviorOf(&s.trigger))
}

// Start implements Operation.
func (op *StopWhenOp[T, U, O1, O2]) Start() {
	if op.guard.begin() {
		startAll(op.starts[:])
	}
}

// stopTrigger is the trigger's receiver.
type stopTrigger[T, U any] guard[T]

func (t *stopTrigger[T, U]) SetValue(U)     { (*guard[T])(t).arrive() }
func (t *stopTrigger[T, U]) SetError(error) { (*guard[T])(t).arrive() }
func (t *stopTrigger[T, U]) SetStopped()    { (*guard[T])(t).arrive() }
func (t *stopTrigger[T, U]) Env() Env       { return &t.group }
