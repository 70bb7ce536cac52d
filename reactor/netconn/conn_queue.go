//go:build linux

package netconn

import (
	"errors"
	"net"
	"os"
	"sync"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// Limits of the queue of a Conn under TLS.
const (
	// highWater bounds the bytes in the queue when crypto/tls gets more to write.
	highWater = 64 << 10
	// chunk is the number of bytes that crypto/tls gets at a time.
	chunk = 32 << 10
	// queueLimit bounds the bytes in the queue at all times. Only answers that crypto/tls gives inside Read, to a peer
	// that asks without reading, can reach it.
	queueLimit = 1 << 20
	// keptBuffer is the capacity above which a buffer of the queue is not used again.
	keptBuffer = highWater + 2*chunk
)

// errQueueFull ends the connection of a peer that makes crypto/tls answer, but does not read.
var errQueueFull = errors.New("netconn: the peer does not read, and the queue of what is to be sent is full")

// queue holds the bytes that the loop has yet to send of a Conn whose Write must not suspend. It belongs to the loop's
// thread.
type queue struct {
	c         *Conn
	next      []byte // appended to
	sending   []byte // with op
	op        reactor.SendOp
	source    stop.Source // of op
	err       error       // nothing more is sent
	inFlight  bool
	endsWrite bool // half-close when it is empty

	mu    sync.Mutex
	inbox []byte // written on other goroutines; guarded by mu
}

var queueBuffers = sync.Pool{New: func() any { return new([]byte) }}

// queueWrites makes Write append to a queue that the loop sends.
func (c *Conn) queueWrites() {
	if c.out == nil {
		c.out = &queue{c: c}
	}
}

// unsent returns how many bytes are in the queue.
func (q *queue) unsent() int { return len(q.next) + len(q.sending) }

func (q *queue) empty() bool { return q.unsent() == 0 }

// enqueue does the work of Write of a Conn with a queue. On any goroutine; it does not wait.
func (c *Conn) enqueue(p []byte) (int, error) {
	q := c.out
	if c.state.Load() != connOpen {
		return 0, c.writeError(net.ErrClosed)
	}
	if d := c.writing.deadline.Load(); d != 0 && d <= c.Loop().Clock() {
		return 0, c.writeError(os.ErrDeadlineExceeded)
	}
	if c.pool.Here() {
		return q.append(p)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.inbox)+len(p) > queueLimit {
		return 0, c.writeError(errQueueFull)
	}
	q.inbox = append(q.inbox, p...)
	c.want(0)
	return len(p), nil
}

// takeInbox appends what other goroutines wrote. An error stays for the next Write.
func (c *Conn) takeInbox() {
	q := c.out
	q.mu.Lock()
	p := q.inbox
	q.inbox = nil
	q.mu.Unlock()
	if len(p) != 0 {
		_, _ = q.append(p)
	}
}

// append adds p, and lets the loop send it.
func (q *queue) append(p []byte) (int, error) {
	switch {
	case q.err != nil:
		return 0, q.c.writeError(q.err)
	case q.unsent()+len(p) > queueLimit:
		q.fail(errQueueFull)
		return 0, q.c.writeError(q.err)
	}
	if q.next == nil {
		q.next = (*queueBuffers.Get().(*[]byte))[:0]
	}
	q.next = append(q.next, p...)
	if !q.inFlight {
		q.send()
	}
	return len(p), nil
}

// send sends what has been appended.
func (q *queue) send() {
	q.sending, q.next = q.next, nil
	q.inFlight = true
	q.source.Reset()
	q.c.s.SendAll(q.sending).Connect(&q.op, q)
	q.op.Start()
}

// fail ends the queue: nothing more is sent.
func (q *queue) fail(err error) {
	if q.err == nil {
		q.err = err
	}
	q.next = nil
	q.source.RequestStop()
}

// SetValue takes the number of bytes that were sent: a part of those with the operation if that was stopped.
func (q *queue) SetValue(n int) {
	if n < len(q.sending) {
		q.sent(sender.ErrStopped)
	} else {
		q.sent(nil)
	}
}

// SetError ends the queue because the connection has failed, or the socket was closed.
func (q *queue) SetError(err error) { q.sent(err) }

// SetStopped ends the queue because the loop drains, or the queue has failed.
func (q *queue) SetStopped() { q.sent(sender.ErrStopped) }

// sent takes in the completion of a send, and begins the next one, or what waits for the end of the queue.
func (q *queue) sent(err error) {
	b := q.sending[:0]
	q.sending, q.inFlight = nil, false
	if cap(b) <= keptBuffer {
		queueBuffers.Put(&b)
	}
	switch {
	case err != nil:
		q.fail(err)
	case len(q.next) != 0:
		q.send()
	}
	c := q.c
	if c.checkRoom(); !q.empty() {
		return
	}
	if q.endsWrite && q.err == nil {
		q.endsWrite = false
		_ = c.closeWrite()
	}
	if c.ender != nil {
		c.ender.flushed()
	}
}

// checkRoom resumes a Write that waits for room, if there is room.
func (c *Conn) checkRoom() {
	x := c.writing.now
	if x == nil || x.start != nil {
		return
	}
	if q := c.out; q.err != nil || q.unsent() <= x.most {
		x.complete(0, q.err)
	}
}

// awaitRoom awaits in t that no more than most bytes are in the queue.
func (c *Conn) awaitRoom(t *task.T, most int) error {
	if q := c.out; q.err == nil && q.unsent() <= most {
		return nil
	}
	c.next.t, c.next.what, c.next.room = t, actRoom, most
	_, err := c.awaitIn()
	return err
}

// Env returns the environment of the operation that sends.
func (q *queue) Env() sender.Env { return (*queueEnv)(q) }

type queueEnv queue

func (q *queueEnv) StopToken() stop.Token       { return q.source.Token() }
func (q *queueEnv) Scheduler() sender.Scheduler { return q.c.Loop() }
func (q *queueEnv) Value(any) any               { return nil }
