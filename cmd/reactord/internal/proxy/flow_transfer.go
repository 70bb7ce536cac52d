package proxy

import (
	"slices"

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
	bytes   int     // that are being sent
	splice  *splice // moves the bytes instead, if not nil
	rest    []byte  // of before the connection came to rest; sent first
	sent    int     // bytes of the first lease that were sent before the connection came to rest
	stopped bool    // there are bytes, and nothing is in flight, because the connection rests
}

func (t *transfer) begin(p *pipe) {
	t.pipe = p
	p.dst().Sendv(nil).Connect(&t.send, t)
}

// end clears the references to the pipe, and keeps the memory of the lists.
func (t *transfer) end(w *worker) {
	t.pipe, t.rest, t.sent, t.stopped = nil, nil, 0, false
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

// flush sends everything that is queued, up to what one send takes, unless the connection rests.
func (t *transfer) flush() {
	if t.pipe.conn.rests() {
		t.stopped = true
		return
	}
	t.stopped = false
	t.send.Reset()
	if t.bytes = len(t.rest); t.bytes != 0 {
		t.send.Add(t.rest)
		t.send.Start()
		return
	}
	t.sending = min(len(t.queue), maxPieces)
	for _, lease := range t.queue[:t.sending] {
		t.send.Add(lease.Bytes())
		t.bytes += lease.Len()
	}
	t.send.Start()
}

// SetValue releases what was sent. It is less than was given if the connection or the loop is stopping.
func (t *transfer) SetValue(sent int) {
	c := t.pipe.conn
	switch {
	case c.phase == phaseClosed:
		t.SetStopped()
		return
	case sent < t.bytes:
		t.stop(sent)
		return
	case len(t.rest) != 0:
		t.rest = nil
		c.touch()
		t.pipe.receiveMore(0)
		t.pipe.drained()
		return
	}
	credits := 0
	for _, lease := range t.queue[:t.sending] {
		credits += lease.Credits()
	}
	t.release(t.sending)
	c.touch()
	if len(t.queue) == 0 && t.pipe.regime() == regimeSplice && !c.rests() && t.startSplice(credits) {
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

// SetStopped drops what is queued, unless the connection rests: the connection or the loop is stopping.
func (t *transfer) SetStopped() { t.stop(0) }

// stop ends a send that has sent so many bytes.
func (t *transfer) stop(sent int) {
	if !t.pipe.conn.rests() {
		t.release(len(t.queue))
		t.pipe.failed(nil)
		return
	}
	t.stopped = true
	if len(t.rest) != 0 {
		t.rest = t.rest[sent:]
		return
	}
	whole := 0
	for whole < t.sending && sent >= t.queue[whole].Len() {
		sent -= t.queue[whole].Len()
		whole++
	}
	t.release(whole)
	t.sent = sent
}

// sendsRest reports whether bytes of before the rest are in flight. t may be nil.
func (t *transfer) sendsRest() bool { return t != nil && (len(t.rest) != 0 || t.splice != nil) }

// unsent returns the bytes of a stopped transfer, and releases their buffers.
func (t *transfer) unsent() (b []byte) {
	b = slices.Clip(t.rest)
	for i, lease := range t.queue {
		if i == 0 {
			b = append(b, lease.Bytes()[t.sent:]...)
		} else {
			b = append(b, lease.Bytes()...)
		}
	}
	t.release(len(t.queue))
	return b
}

// Env returns an empty environment.
func (t *transfer) Env() sender.Env { return sender.EmptyEnv{} }
