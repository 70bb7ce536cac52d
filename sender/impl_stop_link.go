package sender

import (
	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// stopLink forwards the stop requests of two tokens to the child of a WriteEnv. The completion is delivered when no
// request is being forwarded, so that the link can be used again.
type stopLink[T any] struct {
	source stop.Source // the child's
	from   [2]linkedToken[T]
	e      *writtenEnv[T]
	result Completion[T] // the child's
	part   error         // see SetPartial
}

// linkedToken is one of the tokens.
type linkedToken[T any] struct {
	callback stop.Callback
	link     *stopLink[T]
	forward  forwardState
}

func newStopLink[T any](e *writtenEnv[T]) *stopLink[T] {
	x := &stopLink[T]{e: e}
	x.from[0].link, x.from[1].link = x, x
	return x
}

// begin links the two tokens to the source, before the child is started.
func (x *stopLink[T]) begin(first, second stop.Token) {
	x.source.Reset()
	x.from[0].callback.Register(first, &x.from[0])
	x.from[1].callback.Register(second, &x.from[1])
}

// OnStop implements [stop.Handler].
func (f *linkedToken[T]) OnStop() {
	returned := false
	defer aftergoexit.Run(&returned, f.forwarded)
	f.forward = forwarding
	step()
	f.link.source.RequestStop()
	step()
	returned = true
	f.forwarded()
}

// forwarded ends the forwarding in OnStop, and delivers if the child completed inside it.
func (f *linkedToken[T]) forwarded() {
	joined := f.forward == joinedInside
	f.forward = notForwarding
	if joined {
		f.link.deliver()
	}
}

// finish unlinks the tokens after the child has completed, and delivers. Deregister waits for another thread that
// forwards a request. If this call comes from inside the forwarding, source.RequestStop is still running below this
// frame, and OnStop delivers.
func (x *stopLink[T]) finish(c Completion[T], part error) {
	x.result, x.part = c, part
	for i := range x.from {
		x.from[i].callback.Deregister()
		step()
	}
	for i := range x.from {
		if f := &x.from[i]; f.forward == forwarding {
			f.forward = joinedInside
			return
		}
	}
	x.deliver()
}

// deliver completes the operation. It keeps nothing reachable.
func (x *stopLink[T]) deliver() {
	c, part, r := x.result, x.part, x.e.r
	x.result, x.part = Completion[T]{}, nil
	if part != nil {
		SetPartial(r, c.Value, part)
	} else {
		c.Deliver(r)
	}
}
