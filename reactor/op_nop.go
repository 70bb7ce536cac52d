//go:build linux

package reactor

import "github.com/reactord/reactord/sender"

// NopSender goes through the ring and back. See [Loop.Nop].
type NopSender struct {
	affine
	l *Loop
}

// Nop returns a sender that completes when an entry that asks for nothing has gone through the ring.
//
// Kernel operation: IORING_OP_NOP.
func (l *Loop) Nop() NopSender { return NopSender{l: l} }

// Connect implements [sender.Sender].
func (c NopSender) Connect(op *NopOp, r sender.Receiver[struct{}]) sender.Operation {
	op.sqe.PrepNop()
	op.loop, op.r = c.l, r
	return op
}

// NopOp is the operation state of [Loop.Nop].
type NopOp struct{ single[struct{}] }

// Start begins the round trip. It may be called again after each completion.
func (o *NopOp) Start() { o.start(o, o.env()) }

func (o *NopOp) onCompletion(out outcome) { o.complete(struct{}{}, out) }
