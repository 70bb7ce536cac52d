//go:build linux

package reactor

import (
	"syscall"

	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// outcome is the meaning of a completion, or of a substitute for one, to the operation.
type outcome struct {
	res   int32  // what the entry returned: at least 0 if it is done, a negative errno if it failed
	flags uint32 // of the completion
	kind  outcomeKind
}

type outcomeKind uint8

const (
	outcomeOfRing      outcomeKind = iota // not classified yet: see resolve
	outcomeDone                           // there is a result
	outcomeFailed                         // with an errno
	outcomeStopped                        // it was asked to stop, or the loop drains
	outcomeClosed                         // its descriptor was closed
	outcomeUnsupported                    // the ring does not have the opcode
)

// failure returns the outcome of an operation that failed with errno.
func failure(errno syscall.Errno) outcome { return outcome{res: -int32(errno), kind: outcomeFailed} }

// outcomeOf returns the outcome of a system call that returned res: at least 0, or a negative errno.
func outcomeOf(res int32) outcome {
	if res < 0 {
		return outcome{res: res, kind: outcomeFailed}
	}
	return outcome{res: res, kind: outcomeDone}
}

// done reports whether there is a result.
func (u outcome) done() bool { return u.kind == outcomeDone }

// cancelled reports whether the operation ended because it was asked to, without a result.
func (u outcome) cancelled() bool { return u.kind == outcomeStopped || u.kind == outcomeClosed }

// is reports whether the operation failed with errno.
func (u outcome) is(errno syscall.Errno) bool {
	return u.kind == outcomeFailed && u.res == -int32(errno)
}

// more reports whether the entry will have further completions.
func (u outcome) more() bool { return u.flags&uring.CQEMore != 0 }

// errorOf returns the error that an outcome stands for; nil if it is done, or stopped.
func (o *op) errorOf(out outcome) error {
	switch out.kind {
	case outcomeFailed:
		return syscall.Errno(-out.res)
	case outcomeClosed:
		return errClosed
	case outcomeUnsupported:
		return &uring.NotSupportedError{Op: o.sqe.Opcode, Ring: o.loop.ring.Caps().Ring}
	}
	return nil
}

// cancelled returns the outcome of an operation that ended because it was asked to.
func (o *op) cancelled() outcome {
	if o.closing() {
		return outcome{kind: outcomeClosed}
	}
	return outcome{kind: outcomeStopped}
}

// operation is an operation state that was started and that the loop drives.
type operation interface {
	// onCompletion takes in what a completion means. It is called for each item of a multishot entry (see
	// outcome.more), and at last when nothing of the operation is left with the ring. Then the operation completes, or
	// arms itself again. It is not called for failures after which its policy retries.
	onCompletion(out outcome)
	// cancel asks the operation to end soon. It may be called more than once, and does not complete it itself.
	cancel()
}

// retryable is an operation whose entry has to be prepared again before it is armed again.
type retryable interface {
	operation
	// prep fills the entry for what is left to be done, and reports true. False: the operation has nothing to do
	// now, and is dormant.
	prep() bool
}

// reaction names what follows a failure.
type reaction uint8

const (
	report       reaction = iota // the operation completes with it
	retry                        // armed again
	retryAsleep                  // armed again, but the ring is to wait before it tries
	pollAndRetry                 // armed again when a poll says that the descriptor is ready
	awaitBuffer                  // armed again when the loop has a receive buffer
	retryLater                   // armed again after futileBackoff
)

// policy is an index into policies: how an operation deals with what is not a result.
type policy uint8

const (
	policyPlain     policy = iota
	policyFile             // what only a signal interrupts
	policyRecv             // a receive into the caller's memory
	policyRecvLease        // a receive into a buffer of the loop
	policyRead             // reads of files and streams
	policyWrite            // writes to files and streams
	policyDrain            // SendFile, from its pipe to the socket
	policySplice           // splices that do not wait; prep polls first
	policyAccept           // one connection
	policyPoll             // the poll is the operation
	policyPollMany         // a sequence of those
	policyEvent            // the poll of an Event
	policySend             // all sends on sockets
	policyRecvMany         // the sequences that take what comes
	policyReadMany
	policyAcceptMany
	policyEventMany

	policyWithRole = policySend // from here on policies have a role
)

// role is the part that an operation plays for its descriptor.
type role uint8

const (
	roleNone   role = iota
	roleSource      // takes what comes, item by item; there is one at a time, see Descriptor.source
	roleSender      // sends, and has to know when the peer closes its write side, see Descriptor.sending
)

// policies name the failures that do not end an operation. A failure that is not in the table does. No failure is
// retried once the operation was asked to stop.
var policies = [...]struct {
	again       reaction // EAGAIN: the descriptor was not ready
	interrupted reaction // EINTR: nothing was done
	withdrawn   reaction // ECANCELED: the operation took its entry back itself, by disarm
	noBuffer    reaction // ENOBUFS: there was no receive buffer

	events  uint32        // what pollAndRetry polls for
	futile  uint8         // EAGAINs in a row after which EAGAIN is an error; 0 for never
	hasty   uint8         // EAGAINs in a row after which it backs off before it is armed again; 0 for never
	hangup  syscall.Errno // what a poll that reports POLLRDHUP or POLLHUP means; 0: that the descriptor is ready
	answers bool          // what a poll reports is the operation's result
	items   bool          // its entry may complete more than once
	role    role
}{
	policyPlain:     {},
	policyFile:      {interrupted: retry},
	policyRecv:      {again: retryAsleep},
	policyRecvLease: {again: retryAsleep, noBuffer: awaitBuffer},
	policyRead:      {again: pollAndRetry, interrupted: retry, events: unix.POLLIN, futile: maxFutile},
	policyWrite:     {again: pollAndRetry, interrupted: retry, events: unix.POLLOUT, futile: maxFutile},
	policyDrain:     {again: pollAndRetry, interrupted: retry, events: unix.POLLOUT, futile: maxFutile},
	policySplice:    {again: retry, interrupted: retry, futile: maxFutile},
	policyAccept:    {again: pollAndRetry, interrupted: retry, events: acceptEvents, hangup: syscall.EINVAL},
	policyPoll:      {answers: true},
	policyPollMany:  {again: retry, items: true},
	policyEvent:     {again: retry},
	policySend: {
		again: pollAndRetry, interrupted: retry, withdrawn: retry,
		events: unix.POLLOUT, hasty: maxHasty, items: true, role: roleSender,
	},
	policyRecvMany: {
		again: retryAsleep, interrupted: retry, withdrawn: retry, noBuffer: awaitBuffer,
		items: true, role: roleSource,
	},
	policyReadMany: {
		again: pollAndRetry, interrupted: retry, withdrawn: retry, noBuffer: awaitBuffer,
		events: unix.POLLIN, futile: maxFutile, items: true, role: roleSource,
	},
	policyAcceptMany: {
		again: pollAndRetry, interrupted: retry, withdrawn: retry,
		events: acceptEvents, hangup: syscall.EINVAL, items: true, role: roleSource,
	},
	policyEventMany: {again: retry, role: roleSource},
}

// maxFutile is the number of polls in a row that may falsely report readiness before EAGAIN is an error.
const maxFutile = 32

// maxHasty is the number of them that a send follows without a backoff.
const maxHasty = 3

// errnoRestart is the kernel's ERESTARTSYS, which it keeps to itself elsewhere: a splice that is cancelled while a
// worker thread of the kernel carries it out ends with it.
const errnoRestart = 512

// claim gives the operation the role of its policy, and reports false if another operation has it.
func (o *op) claim() bool {
	d := o.on
	switch policies[o.policy].role {
	case roleSource:
		if d.source != nil {
			return d.state != descriptorOpen
		}
		d.source = o
	case roleSender:
		if d.sending == nil {
			d.sending = o
		}
	}
	return true
}

// unclaim gives the role up.
func (o *op) unclaim() {
	d := o.on
	if d.source == o {
		d.source = nil
	}
	if d.sending == o {
		d.sending = nil
	}
}

// settle takes in the final completion of the entry.
func (o *op) settle(run operation, res int32, flags uint32) {
	o.state, o.kind = opSettled, outcomeOfRing
	if o.polling != pollAnswered {
		o.res, o.flags = res, flags
	}
	switch {
	case o.cancelOp == cancelOut:
		o.cancelOp = cancelOutSettled
	case res >= 0 && o.polling == pollNone: // what resolve does as well, without one more call
		o.futile = 0
		run.onCompletion(outcome{res, flags, outcomeDone})
	default:
		o.resolve(run)
	}
}

// item takes in a completion that will be followed by others.
func (o *op) item(run operation, res int32, flags uint32) {
	if o.polling != pollNone {
		o.pollItem(res)
		return
	}
	if !policies[o.policy].items {
		panic("reactor: more than one completion of a single operation")
	}
	o.futile = 0
	out := outcomeOf(res)
	out.flags = flags
	run.onCompletion(out)
}

// resolve decides what follows, now that nothing of the operation is with the ring.
func (o *op) resolve(run operation) {
	if o.res >= 0 && o.kind == outcomeOfRing && o.polling == pollNone {
		o.futile = 0
		run.onCompletion(outcome{o.res, o.flags, outcomeDone})
		return
	}
	if o.res == -int32(syscall.ECANCELED) && o.stopping && o.flags == 0 && o.kind == outcomeOfRing { // the usual stop
		o.polling = pollNone
		run.onCompletion(o.cancelled())
		return
	}
	out, next := o.classify()
	if out.kind == outcomeOfRing { // the poll is armed again
		return
	}
	o.react(run, out, next)
}

// classify interprets the last completion of the entry, if it is not simply a result.
func (o *op) classify() (out outcome, next reaction) {
	out = outcome{o.res, o.flags, o.kind}
	switch {
	case out.kind == outcomeStopped:
		return o.cancelled(), report
	case out.kind != outcomeOfRing:
		return out, report
	case o.res >= 0:
		return o.classifyPoll()
	}
	o.polling = pollNone
	if out.kind = outcomeFailed; out.res == -errnoRestart {
		out.res = -int32(syscall.EINTR)
	}
	errno, p := syscall.Errno(-out.res), &policies[o.policy]
	switch errno {
	case syscall.EAGAIN:
		next = p.again
	case syscall.EINTR:
		next = p.interrupted
	case syscall.ECANCELED:
		next = p.withdrawn
	case syscall.ENOBUFS:
		next = p.noBuffer
	}
	switch {
	case o.over() && (next != report || errno == syscall.ECANCELED || errno == syscall.EINTR):
		return o.cancelled(), report
	case errno == syscall.EAGAIN && p.futile != 0:
		if o.futile == p.futile {
			return out, report
		}
		o.futile++
	case errno == syscall.EAGAIN && p.hasty != 0:
		if o.futile == p.hasty {
			return out, retryLater
		}
		o.futile++
	}
	return out, next
}

// react does what is to follow out.
func (o *op) react(run operation, out outcome, next reaction) {
	if o.flags&uring.CQEBuffer != 0 && !out.done() { // it failed although it had a buffer
		o.lease(outcome{o.res, o.flags, outcomeFailed})
		out.flags &^= uring.CQEBuffer
	}
	switch next {
	case report:
		run.onCompletion(out)
	case retry:
		o.rearm(run)
	case retryAsleep:
		if o.prepare(run) {
			o.tryAsleep()
			o.arm()
		}
	case pollAndRetry:
		o.poll(o.on, policies[o.policy].events)
		o.arm()
	case retryLater:
		o.loop.retryLater(o)
	case awaitBuffer:
		if !o.prepare(run) {
			return
		}
		if o.sqe.Flags&uring.SQEBufferSelect == 0 { // it may have prepared another kind of entry
			o.arm()
			return
		}
		o.buffers().wait(o)
	}
}

// proceed arms the operation for what is left of it; if it was asked to stop, it completes instead.
func (o *op) proceed(run retryable) {
	switch {
	case o.over():
		run.onCompletion(o.cancelled())
	case run.prep():
		o.arm()
	}
}

// rearm arms the operation again, unless it has nothing to do now.
func (o *op) rearm(run operation) {
	if o.prepare(run) {
		o.arm()
	}
}

// prepare fills the entry again, if the operation has anything to change in it.
func (o *op) prepare(run operation) bool {
	p, ok := run.(retryable)
	return !ok || p.prep()
}

// tryAsleep makes a receive wait for readiness before it tries, unless it is one that must not wait.
func (o *op) tryAsleep() {
	if op := o.sqe.Opcode; (op == uring.OpRecv || op == uring.OpRecvmsg) && o.sqe.OpFlags&unix.MSG_DONTWAIT == 0 {
		o.sqe.Ioprio |= uring.RecvsendPollFirst
	}
}

// resolve completes an operation that was in the loop's ready queue.
func (s *slot) resolve() {
	switch o := s.op; {
	case o == nil:
		s.run.onCompletion(outcome{kind: outcomeStopped})
	case o.state == opDelivering: // the receiver ended its goroutine, see beginDelivery
		o.state = opSettled
		o.proceed(s.run.(retryable))
	default:
		o.state = opSettled
		o.resolve(s.run)
	}
}
