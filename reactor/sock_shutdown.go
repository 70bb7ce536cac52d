//go:build linux

package reactor

import "github.com/reactord/reactord/sender"

// ShutdownSender shuts a direction of a connection down. See [Socket.Shutdown].
type ShutdownSender struct {
	affine
	s   *Socket
	how int
}

// Shutdown returns a sender that shuts the connection down for unix.SHUT_RD, SHUT_WR or SHUT_RDWR. It calls shutdown(2)
// when started, which does not block, because the kernel would carry out the entry on a worker thread.
func (s *Socket) Shutdown(how int) ShutdownSender { return ShutdownSender{s: s, how: how} }

// Connect implements [sender.Sender].
func (c ShutdownSender) Connect(op *ShutdownOp, r sender.Receiver[struct{}]) sender.Operation {
	op.how = c.how
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	return op
}

// ShutdownOp is the operation state of [Socket.Shutdown].
type ShutdownOp struct {
	single[struct{}]
	how int
}

// Start shuts down; the completion follows in this or the next turn of the loop. It may be called again after each
// completion.
func (o *ShutdownOp) Start() {
	if o.begin(o, o.env().StopToken()) {
		o.ready(outcomeOf(resultOf(o.on.shutdown(o.how))))
	}
}

func (o *ShutdownOp) onCompletion(out outcome) { o.complete(struct{}{}, out) }
