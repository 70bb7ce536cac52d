//go:build linux

package reactor

import (
	"cmp"
	"fmt"
	"syscall"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// The life of an operation is in the files op_*.go:
//
//	op.go           its state, its start, its release
//	op_outcome.go   what a completion means: the one place that decides what follows it
//	op_poll.go      waiting until a descriptor is ready, and waiting before a retry
//	op_cancel.go    stop requests, and taking an entry back
//	op_slots.go     the table of what is in flight
//	op_sequence.go  operations of many items, and their credit

// op is the part of every operation state that the ring sees: the submission entry itself, and what is needed to
// cancel it and to take its completions in.
//
// It belongs to its owner while it is idle, and to the loop from Start until the receiver is called. It must be on
// the heap and must not be moved. After a completion it can be started again, also from inside that completion.
type op struct {
	_      noCopy
	sqe    uring.SQE
	loop   *Loop
	id     uint64      // in the slot table, from Start until the completion
	on     *Descriptor // the descriptor that the operation is about, or nil
	second *Descriptor // a second one, see about; nil if none, or the same
	onStop *stopWatch  // registered with the stop token; nil if that cannot stop

	res   int32 // of the last completion, as the ring reported it
	flags uint32
	kind  outcomeKind // what resolve has to report; outcomeOfRing: res is to be classified

	state    opState
	cancelOp cancelState
	policy   policy
	polling  pollState
	futile   uint8 // polls in a row that falsely reported readiness
	stopping bool  // the operation was asked to stop, or was refused: it is not armed again
	rationed bool  // it is dormant because it holds its share of the buffers, see ration
}

// opState says who acts next on an operation.
//
//	idle       → armed       Start queued the entry
//	idle       → ready       Start refused the operation, or completed it without the ring
//	idle       → dormant     Start left it to wait for something else than the ring: a worker thread, say
//	armed      → settled     its final completion is in
//	settled    → armed       it is retried, or has more to do
//	settled    → dormant     it has more to do, but not now
//	settled    → ready       it has waited for a last thing, such as close(2), and completes in a later turn
//	settled    → delivering  the item of a final completion is with the receiver
//	delivering → settled     the receiver has returned, or ended its goroutine
//	dormant    → armed       what it waited for is there
//	dormant    → settled     a worker thread has its job, so it can no longer be stopped
//	dormant    → ready       it was asked to stop, or what it waited for completes it without the ring
//	ready      → settled     the loop has taken it out of its ready queue
//	settled    → idle        it was released; then the receiver is called
//
// An armed operation is cancelled by an entry (see cancelState), a dormant one by making it ready. The others are
// about to complete, or find out that they were asked to stop when they would be armed again.
type opState uint8

const (
	opIdle       opState = iota
	opReady              // in the loop's ready queue: it is resolved without the ring
	opArmed              // with the ring
	opSettled            // its result is in, so that there is nothing to cancel
	opDelivering         // as opSettled; the receiver has the item, see beginDelivery
	opDormant            // waits for credit, a buffer, a timer, a worker thread, or other operations
)

// about names the descriptors that the operation is about, or nil. All of them count it, and closing any of them
// cancels and joins it.
func (o *op) about(l *Loop, on, second *Descriptor) {
	if second == on {
		second = nil
	}
	if on == nil {
		on, second = second, nil
	}
	o.loop, o.on, o.second = l, on, second
}

// start publishes the operation, whose entry is prepared. It cannot fail: whatever is wrong becomes a completion, and
// none is delivered before start has returned.
//
// The order matters: the token is checked, the entry is queued, and only then is the stop callback registered, so
// that a cancel is always queued behind its target.
func (o *op) start(run operation, env sender.Env) {
	token := env.StopToken()
	if o.begin(run, token) {
		if o.on != nil && o.on.tcp {
			o.on.expectTCP()
		}
		o.arm()
		o.watch(token)
	}
}

// startFailed starts an operation that completes with out, unless it is stopped before that. It does not reach the
// ring.
func (o *op) startFailed(run operation, env sender.Env, out outcome) {
	if o.begin(run, env.StopToken()) {
		o.ready(out)
	}
}

// begin does the first part of start: it takes a slot. It reports false if the operation must not be armed; it is in
// the ready queue then, and completes stopped, with net.ErrClosed, with EBUSY or with a uring.NotSupportedError.
func (o *op) begin(run operation, token stop.Token) bool {
	l := o.loop
	o.takeSlot(run)
	switch {
	case o.policy >= policyWithRole && !o.claim():
		o.ready(failure(syscall.EBUSY))
	case l.phase != phaseRunning || token.StopRequested() || o.beingJoined():
		o.stopping = true
		o.ready(outcome{kind: outcomeStopped})
	case !l.ops.Has(o.sqe.Opcode):
		o.ready(outcome{kind: outcomeUnsupported})
	default:
		return true
	}
	return false
}

// takeSlot puts the operation among those in flight.
func (o *op) takeSlot(run operation) {
	o.assertStartable(run)
	o.stopping, o.futile = false, 0
	slots := &o.loop.slots
	o.id = slots.take(run, o)
	if o.on == nil {
		return
	}
	o.on.enter(slotOf(o.id))
	if o.second != nil {
		o.second.pending++
		o.second.others++
	} else if o.sqe.Fd != unix.AT_FDCWD {
		o.sqe.Fd = o.on.fd // the descriptor may have got another number since Connect
	}
}

func (o *op) assertStartable(run operation) {
	o.loop.assertOnThread()
	if o.state != opIdle {
		panicStarted(run)
	}
	if d := o.on; d != nil {
		d.assertUsable(o.loop, run)
	}
	if d := o.second; d != nil {
		d.assertUsable(o.loop, run)
	}
}

// panicStarted reports a second Start.
func panicStarted(run operation) {
	panic(fmt.Sprintf("reactor: Start of a %T that has not completed: start it again from its completion, "+
		"or use another operation state; if it has completed, it was copied meanwhile: keep it by a pointer", run))
}

// assertIdle panics unless the operation is idle, so that its owner may call method.
func (o *op) assertIdle(method string) {
	if o.state != opIdle {
		panic("reactor: " + method + " of an operation that has not completed: call it from its completion, or later")
	}
}

// watch registers a stop callback.
func (o *op) watch(token stop.Token) {
	if token.StopPossible() {
		o.onStop = o.loop.takeWatch(o.id, token)
	}
}

// arm queues the entry.
func (o *op) arm() {
	o.state, o.cancelOp = opArmed, cancelNone
	o.sqe.UserData = o.id
	o.loop.ring.Push(&o.sqe)
	o.loop.count.entries++
}

// ready lets the operation complete with out in this or the next turn of the loop, without the ring.
func (o *op) ready(out outcome) {
	o.res, o.flags, o.kind, o.state, o.polling = out.res, 0, out.kind, opReady, pollNone
	o.loop.ready = append(o.loop.ready, o.id)
}

// run returns the operation of which o, which is in flight, is a part.
func (o *op) run() operation { return o.loop.slots.at(slotOf(o.id)).run }

// over reports whether the operation must not be armed again, because it was asked to stop or its descriptor is
// being closed or quiesced: the cancel that would have reached it may have come already.
func (o *op) over() bool { return o.stopping || o.beingJoined() }

// beingJoined reports whether the operations of a descriptor of the operation are being joined.
func (o *op) beingJoined() bool {
	return o.on != nil && o.on.state != descriptorOpen || o.second != nil && o.second.state != descriptorOpen
}

// closing reports whether a descriptor of the operation is being closed.
func (o *op) closing() bool {
	return o.on != nil && o.on.state >= descriptorClosing || o.second != nil && o.second.state >= descriptorClosing
}

// release makes the operation idle: its storage is the owner's again.
func (o *op) release() {
	if assert.Enabled && (o.state == opArmed || o.cancelOp == cancelOut) {
		panic("reactor: release of an operation that is with the ring")
	}
	if o.onStop != nil {
		o.loop.putWatch(o.onStop)
		o.onStop = nil
	}
	o.leave()
	o.loop.retire(o.id)
	o.state = opIdle
}

// leave detaches the operation from its descriptors.
func (o *op) leave() {
	if o.on == nil {
		return
	}
	if o.policy >= policyWithRole {
		o.unclaim()
	}
	o.on.leave(slotOf(o.id))
	if d := o.second; d != nil {
		d.others--
		d.released()
	}
}

// single is an operation that completes once, with a T.
type single[T any] struct {
	op
	r sender.Receiver[T]
}

// env returns the environment of the receiver.
func (o *single[T]) env() sender.Env {
	if o.loop == nil || o.r == nil {
		panicUnconnected(o.loop, o.r == nil)
	}
	return o.r.Env()
}

// panicUnconnected reports a Start without a receiver or a loop.
func panicUnconnected(l *Loop, noReceiver bool) {
	if l != nil || noReceiver {
		panic("reactor: Start of an operation that is not connected to a receiver: call its sender's Connect first")
	}
	panic("reactor: Start of an operation without a Loop: its descriptor was never opened: call Open or Init first")
}

// complete makes the operation idle, and completes with v, or as out says if that is no success.
func (o *single[T]) complete(v T, out outcome) {
	o.release()
	if out.kind == outcomeDone {
		o.r.SetValue(v)
	} else {
		o.fail(o.errorOf(out))
	}
}

// report completes, as complete does, an operation that was released already.
func (o *single[T]) report(v T, out outcome) {
	if out.kind == outcomeDone {
		o.r.SetValue(v)
	} else {
		o.fail(o.errorOf(out))
	}
}

// completePart completes with v, which is the part that was done if partial is set: a stop does not take it away.
func (o *single[T]) completePart(v T, out outcome, partial bool) {
	if !partial || !out.cancelled() {
		o.complete(v, out)
		return
	}
	o.release()
	sender.SetPartial(o.r, v, cmp.Or(o.errorOf(out), sender.ErrStopped))
}

// fail completes an operation that was released with err, or stopped if that is nil.
func (o *single[T]) fail(err error) {
	if err != nil {
		o.r.SetError(err)
	} else {
		o.r.SetStopped()
	}
}

// affine is embedded in every sender of this package: its operation is started on its loop's thread and completes
// there, after Start. By this a task knows that it needs no atomics to await it.
type affine struct{}

// CompletionBehavior implements [sender.CompletionDescriber].
func (affine) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }
