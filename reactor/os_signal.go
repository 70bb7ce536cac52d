//go:build linux

package reactor

import (
	"os"
	"sync/atomic"
	"syscall"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
)

// SignalsSender delivers signals. See [Loop.Signals].
type SignalsSender struct {
	affine
	l       *Loop
	credit  int
	signals []os.Signal
}

// Signals returns a sequence of the signals that the process receives, of those given, in place of what they would do
// otherwise: see signal.Notify, which it uses because signalfd(2) needs signals blocked on all threads, which the Go
// runtime does not allow. It ends by a stop, before which it delivers what has come.
//
// As with any signals, those of one number that come before the first of them was delivered are one item; no number
// that was sent is lost. Of several numbers the lowest comes first.
//
// credit is the number of items it may deliver; [SignalsOp.Grant] adds to it (see "Credit"). What comes without credit
// is remembered.
func (l *Loop) Signals(credit int, signals ...os.Signal) SignalsSender {
	return SignalsSender{l: l, credit: credit, signals: signals}
}

// Connect implements [sender.Sender].
func (c SignalsSender) Connect(op *SignalsOp, r seq.Receiver[os.Signal]) sender.Operation {
	op.sqe.PrepNop() // an opcode that every ring has; the entry is not pushed
	op.signals = c.signals
	op.loop, op.on, op.r = c.l, nil, r
	op.credit.init(c.credit)
	op.post.Runner = (*signalPost)(op)
	return op
}

// SignalsOp is the operation state of [Loop.Signals]. It is dormant until there is something to deliver, and then
// ready.
type SignalsOp struct {
	sequence[os.Signal]
	credit
	signals []os.Signal
	cancels []func()
	out     outcome // how it ended, from silenced on

	pending  atomic.Uint64 // those that have come, by bit number - 1
	posted   atomic.Bool   // post is on its way to the loop
	post     sender.Work
	silenced bool // no thread posts
}

// Start begins to listen. It may be called again after each completion.
func (o *SignalsOp) Start() {
	token := o.env().StopToken()
	o.credit.reset()
	o.silenced = false
	o.pending.Store(0)
	if !o.begin(o, token) {
		return
	}
	for _, s := range o.signals {
		n, ok := s.(syscall.Signal)
		if !ok || n < 1 || n > 64 {
			o.ready(failure(syscall.EINVAL))
			return
		}
		bit := uint64(1) << (n - 1)
		o.cancels = append(o.cancels, o.loop.sys.Notify(s, func() { o.raise(bit) }))
	}
	o.state = opDormant
	o.watch(token)
}

// raise notes a signal. From any thread.
func (o *SignalsOp) raise(bit uint64) {
	o.pending.Or(bit)
	if o.posted.CompareAndSwap(false, true) {
		o.loop.Enqueue(&o.post)
	}
}

// Grant lets the sequence deliver n more items. On the loop's thread, while the sequence is in progress.
func (o *SignalsOp) Grant(n int) {
	o.loop.assertOnThread()
	o.credit.add(n)
	o.wake()
}

// wake makes the operation ready if there is something to deliver.
func (o *SignalsOp) wake() {
	if o.state == opDormant && o.credit.left > 0 && o.pending.Load() != 0 {
		o.ready(outcome{kind: outcomeDone})
	}
}

// signalPost is a SignalsOp as work for its loop.
type signalPost SignalsOp

// Run takes notice of signals that have come.
func (p *signalPost) Run() {
	o := (*SignalsOp)(p)
	o.posted.Store(false)
	if o.silenced && o.state == opSettled {
		o.ready(o.out) // it has waited for this
		return
	}
	o.wake()
}

// Abandon does nothing: the loop has ended.
func (p *signalPost) Abandon(error) {}

// prep lets the sequence wait for signals: there is no entry. If the receiver ended its goroutine when it got the last
// signals before the end, the sequence completes.
func (o *SignalsOp) prep() bool {
	if o.silenced {
		o.onCompletion(o.out)
		return false
	}
	o.state = opDormant
	o.wake()
	return false
}

func (o *SignalsOp) onCompletion(out outcome) {
	if out.done() {
		o.deliver()
		o.proceed(o)
		return
	}
	o.silence()
	if o.out = out; o.posted.Load() {
		return // the operation may not complete before its post has run
	}
	o.deliver() // what came before the stop
	o.complete(out)
}

// deliver delivers what has come, as far as there is credit. If the receiver ends its goroutine, the rest is delivered
// when the loop lets the operation proceed.
func (o *SignalsOp) deliver() {
	o.beginDelivery()
	for n := syscall.Signal(1); n <= 64 && o.credit.left > 0; n++ {
		bit := uint64(1) << (n - 1)
		if o.pending.And(^bit)&bit != 0 {
			o.credit.spend(1)
			o.r.SetNext(n)
		}
	}
	o.endDelivery()
}

// silence lets signals do what they did before. When it returns no thread posts.
func (o *SignalsOp) silence() {
	if o.silenced {
		return
	}
	o.silenced = true
	for i, cancel := range o.cancels {
		cancel()
		o.cancels[i] = nil
	}
	o.cancels = o.cancels[:0]
}
