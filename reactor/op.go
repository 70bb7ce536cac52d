package reactor

import (
	"fmt"
	"syscall"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/uring"
)

// op is the part of every operation state that the ring sees: the submission entry itself, and what
// is needed to cancel it and to take its completion in.
//
// It belongs to its owner while idle and to the loop from Start until the receiver is called. It must
// be on the heap and stay where it is. After a completion it can be started again, also from inside
// that completion.
type op struct {
	sqe  uring.SQE
	loop *Loop
	on   *Descriptor // nil if it is about none
	handle
	onStop stop.Callback
	res    int32 // of the final completion
	flags  uint32
	state  opState
	// cancelOut: an ASYNC_CANCEL entry for this one is out, and the operation is not over before its
	// completion is in: neither the storage nor the user_data may be used again under a live cancel.
	cancelOut bool
	finalIn   bool // the final completion came while a cancel was out
	missed    bool // a cancel has not found the entry, and is to be tried again
	stopping  bool // somebody asked for the end: what is cancelled now is over
	rationed  bool // it rests because it holds its share of the buffers
}

type opState uint8

const (
	opIdle    opState = iota
	opReady           // in the loop's ready queue: it will finish without the ring
	opArmed           // with the ring
	opSettled         // its result is in, so that there is nothing to cancel
	opDormant         // waiting for credit, a buffer, a timer or others to be armed
)

// start publishes the operation. It cannot fail: whatever is wrong becomes a completion, and none is
// delivered before start has returned.
//
// The order matters: the token is checked, the entry is queued, and only then is the stop callback
// registered, so that a cancel is always queued behind its target.
func (o *op) start(run operation, env sender.Env) {
	token := env.StopToken()
	if !o.begin(run, token) {
		return
	}
	o.arm()
	o.heed(token)
}

// heed registers the stop callback.
func (o *op) heed(token stop.Token) {
	if token.StopPossible() {
		o.onStop.Register(token, (*opStop)(o))
	}
}

// begin takes a slot. False: the operation is not to be armed, and completes stopped, with net.ErrClosed or
// with a uring.NotSupportedError.
func (o *op) begin(run operation, token stop.Token) bool {
	l := o.loop
	o.takeSlot(run)
	if o.on != nil {
		o.sqe.Fd = o.on.fd // the descriptor may have got another one since Connect
	}
	if l.phase != phaseRunning || token.StopRequested() || o.on != nil && o.on.state != descriptorOpen {
		o.stopping = true
		o.ready(-int32(syscall.ECANCELED))
		return false
	}
	if !l.ops.Has(o.sqe.Opcode) {
		o.ready(-errnoNotSupported)
		return false
	}
	return true
}

// takeSlot puts the operation among those in flight.
func (o *op) takeSlot(run operation) {
	o.assertStartable(run)
	o.stopping = false
	slots := &o.loop.slots
	o.id = slots.take(run, o)
	if o.on != nil {
		o.on.enter(slots.at(slotOf(o.id)))
	}
}

// refuse publishes an operation that fails with errno, unless it is stopped before that. The ring does not hear of it.
func (o *op) refuse(run operation, env sender.Env, errno syscall.Errno) {
	if o.begin(run, env.StopToken()) {
		o.ready(-int32(errno))
	}
}

// errnoNotSupported stands for a uring.NotSupportedError. No system call returns it.
const errnoNotSupported = 4095

func (o *op) assertStartable(run operation) {
	o.loop.assertOnThread()
	if o.state != opIdle {
		panic(fmt.Sprintf("reactor: Start of a %T that has not completed: start it again from its completion, or use another operation state", run))
	}
	if o.on != nil && o.on.loop != o.loop {
		panic(fmt.Sprintf("reactor: Start of a %T whose descriptor has gone to another loop since Connect", run))
	}
}

// arm queues the entry.
func (o *op) arm() {
	o.state, o.missed = opArmed, false
	o.sqe.UserData = o.id
	o.loop.ring.Push(&o.sqe)
}

// ready lets the operation finish with res in this or the next turn of the loop, without the ring.
func (o *op) ready(res int32) {
	o.res, o.flags, o.state = res, 0, opReady
	o.loop.ready = append(o.loop.ready, o.id)
}

// settle takes in the final completion. True: nothing of the operation is with the ring any more.
func (o *op) settle(res int32, flags uint32) bool {
	o.res, o.flags, o.state = res, flags, opSettled
	o.finalIn = o.cancelOut
	return !o.cancelOut
}

// againWhenReady deals with an operation that the kernel gave up with EAGAIN: after many waits in vain
// it lets a worker thread try, which does not wait on a non-blocking socket. pollFirst is the flag that
// makes the entry wait first.
func (o *op) againWhenReady(pollFirst uint16) bool {
	if o.res != -int32(syscall.EAGAIN) {
		return false
	}
	if o.over() {
		o.res = -int32(syscall.ECANCELED)
		return false
	}
	o.sqe.Ioprio |= pollFirst
	o.arm()
	return true
}

// release makes the operation idle: its storage is the owner's again.
func (o *op) release() {
	o.onStop.Deregister()
	o.leave()
	o.loop.retire(&o.handle)
	o.state = opIdle
}

// leave: the operation has nothing to do with its descriptor any more.
func (o *op) leave() {
	if o.on != nil {
		o.on.leave(o.loop.slots.at(slotOf(o.id)))
	}
}

// err is what a negative result means; nil: the operation was stopped.
func (o *op) err() error {
	switch {
	case o.res == -errnoNotSupported:
		return &uring.NotSupportedError{Op: o.sqe.Opcode, Ring: o.loop.ring.Caps().Ring}
	case !o.cancelled():
		return syscall.Errno(-o.res)
	case o.on != nil && o.on.state != descriptorOpen:
		return errClosed
	}
	return nil
}

// single is an operation that completes once, with a T.
type single[T any] struct {
	op
	r sender.Receiver[T]
}

func (o *single[T]) item(int32, uint32) {
	panic("reactor: more than one completion of a single operation")
}

// complete makes the operation idle, and completes with v, or with what a negative result means.
func (o *single[T]) complete(v T) { o.completePart(v, false) }

// completePart is complete; if v is a part of what was to be done, a stop that came meanwhile does not take it away.
func (o *single[T]) completePart(v T, part bool) {
	o.release()
	if o.res < 0 && (!part || !o.cancelled()) {
		o.fail()
		return
	}
	o.r.SetValue(v)
}

// fail completes with what a negative result means.
func (o *single[T]) fail() {
	if err := o.err(); err != nil {
		o.r.SetError(err)
	} else {
		o.r.SetStopped()
	}
}
