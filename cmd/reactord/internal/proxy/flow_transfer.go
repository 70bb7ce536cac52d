package proxy

import (
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// transfer is the bytes of a pipe that are in flight, and the operation that sends them. One send is in flight at a
// time, with everything that is queued when it starts.
type transfer struct {
	pipe    *pipe
	send    reactor.SendvOp
	queue   []reactor.Lease
	sending int     // leases of queue that are being sent, from the first on
	bytes   int     // in those
	splice  *splice // moves the bytes instead, if not nil
}

func (t *transfer) begin(p *pipe) {
	t.pipe = p
	p.dst().Sendv(nil).Connect(&t.send, t)
}

// end clears the references to the pipe, and keeps the memory of the lists.
func (t *transfer) end(w *worker) {
	t.pipe = nil
	w.noSocket.Sendv(nil).Connect(&t.send, t)
}

// push queues a lease, and sends it unless a send is in flight.
func (t *transfer) push(lease reactor.Lease) {
	if last := len(t.queue) - 1; last >= t.sending {
		// Small items share a buffer, so that each of many does not hold a whole one.
		tail := &t.queue[last]
		if credits := tail.Credits() + lease.Credits(); tail.Append(lease.Bytes()) {
			lease.Release()
			t.pipe.grant(credits - tail.Credits())
			return
		}
	}
	t.queue = append(t.queue, lease)
	if t.sending == 0 {
		t.flush()
	}
}

// maxPieces bounds the pieces of one send (IOV_MAX).
const maxPieces = 1024

// flush sends everything that is queued, up to what one send takes.
func (t *transfer) flush() {
	t.sending, t.bytes = min(len(t.queue), maxPieces), 0
	t.send.Reset()
	for _, lease := range t.queue[:t.sending] {
		t.send.Add(lease.Bytes())
		t.bytes += lease.Len()
	}
	t.send.Start()
}

// SetValue releases what was sent. It is less than was given if the connection or the loop is stopping.
func (t *transfer) SetValue(sent int) {
	c := t.pipe.conn
	if c.phase == phaseClosed || sent < t.bytes {
		t.SetStopped()
		return
	}
	credits := 0
	for _, lease := range t.queue[:t.sending] {
		credits += lease.Credits()
	}
	t.release(t.sending)
	c.touch()
	if len(t.queue) == 0 && t.pipe.regime() == regimeSplice && t.startSplice(credits) {
		return
	}
	t.pipe.grant(credits)
	if len(t.queue) != 0 {
		t.flush()
	} else {
		t.pipe.drained()
	}
}

// release releases the first n leases.
func (t *transfer) release(n int) {
	for _, lease := range t.queue[:n] {
		lease.Release()
	}
	t.queue = append(t.queue[:0], t.queue[n:]...)
	t.sending = 0
}

// SetError drops what is queued: the target takes no more bytes.
func (t *transfer) SetError(err error) {
	t.release(len(t.queue))
	t.pipe.failed(err)
}

// SetStopped drops what is queued: the connection or the loop is stopping.
func (t *transfer) SetStopped() {
	t.release(len(t.queue))
	t.pipe.failed(nil)
}

// Env returns an empty environment.
func (t *transfer) Env() sender.Env { return sender.EmptyEnv{} }
