package seq

import "github.com/reactord/reactord/sender"

// oneSource is the part of an operation that has one source, and may stop it before it completes. It is the source's
// receiver, except for SetNext.
type oneSource struct {
	group  sender.Group
	result completion // of the operation
	enough bool       // result is decided, and the source has been requested to stop
}

// begin calls sender.Group.Begin for one child.
func (x *oneSource) begin(h sender.JoinHandler, env sender.Env) bool {
	x.result, x.enough = stopped, false
	return x.group.Begin(h, env, 1)
}

// finish decides the result, and requests the source to stop. It is called inside SetNext.
func (x *oneSource) finish(result completion) {
	x.result, x.enough = result, true
	x.group.RequestStop()
}

// fail finishes with an error.
func (x *oneSource) fail(err error) { x.finish(failed(err)) }

// sourceCompleted takes the source's completion, unless the result is already known, and arrives.
func (x *oneSource) sourceCompleted(c completion) {
	if !x.enough {
		x.result = c
	}
	x.group.Arrive()
}

func (x *oneSource) SetValue(struct{})  { x.sourceCompleted(completed) }
func (x *oneSource) SetError(err error) { x.sourceCompleted(failed(err)) }
func (x *oneSource) SetStopped()        { x.sourceCompleted(stopped) }
func (x *oneSource) Env() sender.Env    { return &x.group }
