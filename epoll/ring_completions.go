//go:build linux

package epoll

import "github.com/reactord/reactord/uring"

// completions is the completion queue: a ring buffer that grows instead of losing anything.
type completions struct {
	ring       []uring.CQE // its length is a power of two
	head, tail uint32
}

func (c *completions) empty() bool { return c.head == c.tail }

func (c *completions) len() int { return int(c.tail - c.head) }

func (c *completions) push(cqe uring.CQE) {
	if int(c.tail-c.head) == len(c.ring) {
		c.grow()
	}
	c.ring[c.tail&uint32(len(c.ring)-1)] = cqe
	c.tail++
}

func (c *completions) pop(cqe *uring.CQE) bool {
	if c.empty() {
		return false
	}
	*cqe = c.ring[c.head&uint32(len(c.ring)-1)]
	c.head++
	return true
}

func (c *completions) grow() {
	ring := make([]uring.CQE, max(64, 2*len(c.ring)))
	n := uint32(0)
	for c.pop(&ring[n]) {
		n++
	}
	c.ring, c.head, c.tail = ring, 0, n
}
