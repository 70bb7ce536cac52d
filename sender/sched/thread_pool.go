package sched

import (
	"runtime"
	"sync"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// ThreadPoolConfig configures a [ThreadPool]. The zero ThreadPoolConfig works.
type ThreadPoolConfig struct {
	// Workers is how many goroutines run work. Default: GOMAXPROCS.
	Workers int
	// Limit is how much work may wait for a worker. New work that exceeds it is refused inside Enqueue, with
	// sender.ErrFull. Work that is not new is never refused, although it counts as waiting: the resumption of tasks,
	// and results that ContinuesOn transfers. Default: no limit.
	Limit int
}

// ThreadPool is a [sender.Scheduler] with a fixed number of goroutines and one queue. It is fair: work begins in the
// order in which it was enqueued, and work that enqueues itself again goes behind all that waits. The one lock is the
// price of this order.
//
// Allocation: Enqueue allocates nothing.
//
// Source: P2300R10 [exec.sched]; static_thread_pool of P0443R14.
type ThreadPool struct {
	mu      sync.Mutex
	more    sync.Cond
	waiting sender.WorkQueue
	room    int // how much more work may wait; negative: by how much exempt work exceeds the limit
	idle    int // workers that wait for work
	phase   phase
	workers sync.WaitGroup
}

// phase is the state of a resource that is ended by Close. It only grows.
type phase uint8

const (
	open    phase = iota
	closing       // Close was called
	closed        // it has ended
)

// reason returns the error with which the resource abandons work in this phase.
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

// Enqueue implements [sender.Scheduler]. The pool abandons w immediately: with [sender.ErrStopped] while it is being
// closed, with [sender.ErrClosed] after that, and with [sender.ErrFull] when its limit is reached.
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

// Close abandons work that comes later, and returns when all waiting work has run. It may be called from any thread
// except a worker, and repeatedly.
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

// work runs the enqueued work as a worker. If runtime.Goexit ends its goroutine, another worker replaces it.
func (p *ThreadPool) work() {
	returned := false
	defer aftergoexit.Run(&returned, func() { p.workers.Go(p.work) })
	for w := p.next(); w != nil; w = p.next() {
		w.Runner.Run()
	}
	returned = true
}

// next waits for work and takes it. It returns nil when the pool is closed and no work waits.
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
