package sched

import (
	"runtime"
	"sync"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// ThreadPoolConfig is how a ThreadPool is made. Its zero value works.
type ThreadPoolConfig struct {
	// Workers is how many goroutines run work. Default: GOMAXPROCS.
	Workers int
	// Limit is how much work may be waiting for a worker. New work that exceeds it is refused inside
	// Enqueue, with sender.ErrFull. The turns of tasks that have begun, and results on their way here
	// (ContinuesOn), are never refused, though they count as waiting. Default: no limit.
	Limit int
}

// ThreadPool is a Scheduler of a fixed number of goroutines and one queue. It is fair: work is begun
// in the order it was enqueued in, whoever enqueued it, and work that enqueues itself again goes
// behind all that is waiting. That is what the one lock is for. Enqueue does not allocate.
//
// Source: P2300R10 [exec.sched]; static_thread_pool of P0443R14.
type ThreadPool struct {
	mu      sync.Mutex
	more    sync.Cond
	waiting sender.WorkQueue
	room    int // how much more new work may wait; negative: that many continuations too many
	idle    int // workers that wait for work
	phase   phase
	workers sync.WaitGroup
}

// phase is how far a resource is that Close ends.
type phase uint8

const (
	open    phase = iota
	closing       // Close was called
	closed        // it has ended
)

// reason is why it abandons work.
func (p phase) reason() error {
	if p == closed {
		return sender.ErrClosed
	}
	return sender.ErrStopped
}

// NewThreadPool starts a pool. The caller must Close it.
func NewThreadPool(cfg ThreadPoolConfig) *ThreadPool {
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Limit <= 0 {
		cfg.Limit = int(^uint(0) >> 1)
	}
	p := &ThreadPool{room: cfg.Limit}
	p.more.L = &p.mu
	for range cfg.Workers {
		p.workers.Go(p.work)
	}
	return p
}

// Enqueue implements sender.Scheduler. When the pool is being closed, is closed, or as much is waiting as
// may, w is abandoned at once: with sender.ErrStopped, sender.ErrClosed and sender.ErrFull.
func (p *ThreadPool) Enqueue(w *sender.Work) {
	p.mu.Lock()
	if p.phase != open {
		reason := p.phase.reason()
		p.mu.Unlock()
		w.Runner.Abandon(reason)
		return
	}
	if p.room <= 0 && !w.ExemptFromLimit() {
		p.mu.Unlock()
		w.Runner.Abandon(sender.ErrFull)
		return
	}
	p.room--
	p.waiting.Push(w)
	if p.idle > 0 {
		p.more.Signal()
	}
	p.mu.Unlock()
}

// Close abandons work that comes from now on, and returns when all that was waiting has been run. It may be
// called from any thread but a worker, and repeatedly.
func (p *ThreadPool) Close() {
	p.mu.Lock()
	p.phase = max(p.phase, closing)
	p.more.Broadcast()
	p.mu.Unlock()
	p.workers.Wait()
	p.mu.Lock()
	p.phase = closed
	p.mu.Unlock()
}

// work is a worker. One whose goroutine is ended by runtime.Goexit is replaced.
func (p *ThreadPool) work() {
	returned := false
	defer aftergoexit.Run(&returned, func() { p.workers.Go(p.work) })
	for w := p.next(); w != nil; w = p.next() {
		w.Runner.Run()
	}
	returned = true
}

// next waits for work and takes it, or returns nil when the pool is closed and nothing is waiting.
func (p *ThreadPool) next() *sender.Work {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.waiting.Empty() && p.phase == open {
		p.idle++
		p.more.Wait()
		p.idle--
	}
	w := p.waiting.Pop()
	if w != nil {
		p.room++
	}
	return w
}
