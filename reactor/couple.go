package reactor

import (
	"syscall"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// couple is an operation about two descriptors, or about a directory, which its entry knows by number only. All
// count it; closing any cancels it and joins it.
type couple[T any] struct {
	single[T]
	other *Descriptor // nil: none, or the same
}

// about names the descriptors; nil: none.
func (o *couple[T]) about(l *Loop, on, other *Descriptor) {
	if other == on {
		other = nil
	}
	if on == nil {
		on, other = other, nil
	}
	o.loop, o.on, o.other = l, on, other
}

func (o *couple[T]) start(run operation, env sender.Env) {
	token, fd := env.StopToken(), o.sqe.Fd
	if !o.begin(run, token) {
		return
	}
	o.sqe.Fd = fd // the entry is not always about the first
	o.arm()
	o.heed(token)
}

// startPaths is start of an operation on paths; those that the kernel cannot be given are EINVAL.
func (o *couple[T]) startPaths(run operation, valid bool) {
	switch env := o.r.Env(); {
	case valid:
		o.start(run, env)
	case o.begin(run, env.StopToken()):
		o.ready(-int32(syscall.EINVAL))
	}
}

func (o *couple[T]) begin(run operation, token stop.Token) bool {
	if d := o.other; d != nil {
		d.pending++
		d.others++
	}
	switch {
	case !o.op.begin(run, token):
		return false
	case o.other != nil && o.other.state != descriptorOpen:
		o.stopping = true
		o.ready(-int32(syscall.ECANCELED))
		return false
	}
	return true
}

func (o *couple[T]) release() {
	o.op.release()
	if d := o.other; d != nil {
		d.others--
		d.released()
	}
}

// complete makes the operation idle, and completes with v, or with what a negative result means.
func (o *couple[T]) complete(v T) {
	o.release()
	if o.res < 0 {
		o.fail(nil)
		return
	}
	o.r.SetValue(v)
}

// err is what a negative result means; nil: the operation was stopped.
func (o *couple[T]) err() error {
	if d := o.other; d != nil && d.state != descriptorOpen && o.cancelled() {
		return errClosed
	}
	return o.op.err()
}

// fail completes with what a negative result means. wrap, if not nil, says more of an error.
func (o *couple[T]) fail(wrap func(error) error) {
	err := o.err()
	switch {
	case err == nil:
		o.r.SetStopped()
	case wrap != nil:
		o.r.SetError(wrap(err))
	default:
		o.r.SetError(err)
	}
}

func (o *couple[T]) isOther(d *Descriptor) bool { return o.other == d }

// cancelOthers cancels the operations on d that another descriptor lists. They are few and seldom, so that they are
// looked for among all.
func (d *Descriptor) cancelOthers() {
	d.loop.slots.each(func(run operation) {
		if c, ok := run.(interface{ isOther(d *Descriptor) bool }); ok && c.isOther(d) {
			run.cancel()
		}
	})
}
