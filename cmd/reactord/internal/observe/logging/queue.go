package logging

import (
	"io"
	"sync"
	"sync/atomic"
)

// queueBytes limits the queue, to some thousand lines.
const queueBytes = 1 << 20

// queue is a [zapcore.WriteSyncer] that writes on a goroutine. Lines are appended to one buffer while the other is
// being written, so that callers do not wait for the write.
type queue struct {
	out     io.Writer
	limit   int                // bytes
	dropped func(lines uint64) // logs that lines were dropped; called by the goroutine

	mu      sync.Mutex
	changed sync.Cond // lines were queued or written, or the queue was closed
	waiting []byte
	lost    uint64        // lines dropped since dropped was called
	total   atomic.Uint64 // lines dropped
	writing bool
	closed  bool
	ended   chan struct{}
}

func newQueue(out io.Writer, limit int, dropped func(lines uint64)) *queue {
	q := &queue{out: out, limit: limit, dropped: dropped, ended: make(chan struct{})}
	q.changed.L = &q.mu
	go q.run()
	return q
}

// Write queues a line, or drops it if there is no room. A closed queue drops every line.
func (q *queue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.waiting)+len(line) > q.limit {
		q.lost++
		q.total.Add(1)
		return len(line), nil
	}
	q.waiting = append(q.waiting, line...)
	q.changed.Broadcast()
	return len(line), nil
}

// Sync waits until everything queued is written.
func (q *queue) Sync() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 || q.writing {
		q.changed.Wait()
	}
	return nil
}

// Close writes everything queued, and ends the goroutine.
func (q *queue) Close() error {
	q.mu.Lock()
	q.closed = true
	q.changed.Broadcast()
	q.mu.Unlock()
	<-q.ended
	return nil
}

func (q *queue) run() {
	defer close(q.ended)
	var lines []byte
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.waiting) == 0 && !q.closed {
			q.changed.Wait()
		}
		if len(q.waiting) == 0 {
			return
		}
		q.waiting, lines = lines[:0], q.waiting
		lost := q.lost
		q.lost, q.writing = 0, true
		q.mu.Unlock()
		_, _ = q.out.Write(lines) // there is nowhere to report an error
		if lost > 0 {
			q.dropped(lost)
		}
		q.mu.Lock()
		q.writing = false
		q.changed.Broadcast()
	}
}
