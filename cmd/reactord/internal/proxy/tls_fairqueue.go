package proxy

import (
	"encoding/binary"
	"math/bits"
	"net/netip"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// fairQueue lets handshakes wait for what they compute with: a step of the loop, or a worker thread. It has several
// queues, which are served in rotation, and each source has one at random, which it may share: many handshakes of one
// source hardly delay those of others.
type fairQueue struct {
	queues [1 << queueBits]waitQueue
	served int    // index of the queue that was served last
	key    uint64 // of the choice of queues, so that no client can choose
}

const queueBits = 6

// wait waits until the handshake is served, or has taken too long.
func (q *fairQueue) wait(h *handshake) error {
	c := h.side.layer.conn
	_, err := task.Await(h.t, sender.Timeout(
		q.of(c.clientAddr().Addr()).wait(&h.place, c), c.loop().SleepUntil(h.deadline)))
	return err
}

// of returns the queue of a client. An IPv6 address is in that of its first 64 bits.
func (q *fairQueue) of(client netip.Addr) *waitQueue {
	a := client.Unmap().WithZone("").As16()
	source := binary.BigEndian.Uint64(a[:8])
	if client.Unmap().Is4() {
		source = binary.BigEndian.Uint64(a[8:])
	}
	high, low := bits.Mul64(source^q.key, 0x9e3779b97f4a7c15)
	return &q.queues[(high^low)>>(64-queueBits)]
}

// empty reports whether no handshake waits.
func (q *fairQueue) empty() bool { return q.next() < 0 }

// next returns the index of the queue that is to be served next, or -1 if no handshake waits.
func (q *fairQueue) next() int {
	for i := range q.queues {
		if next := (q.served + 1 + i) % len(q.queues); q.queues[next].length != 0 {
			return next
		}
	}
	return -1
}

// serve ends the wait of the handshake whose turn it is, and reports whether one waits.
func (q *fairQueue) serve() bool {
	next := q.next()
	if next < 0 {
		return false
	}
	q.served = next
	q.queues[next].first().leave(nil)
	return true
}
