package sched

import (
	"runtime"
	"sync"

	"github.com/reactord/reactord/sender"
)

// ThreadPoolConfig is how a ThreadPool is made. Its zero value works.
type ThreadPoolConfig struct {
	// Workers is how many goroutines run work. Default: GOMAXPROCS.
	Workers int
	// Limit is how much work may be waiting for a worker. What exceeds it is refused: it is abandoned
	// inside Enqueue. Default: no limit.
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
	room    int // how much more may wait
	idle    int // workers that wait for work
	closed  bool
	workers sync.WaitGroup
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

// Enqueue implements sender.Scheduler. When the pool is closed, or as much is waiting as may, w is
// abandoned at once.
func (p *ThreadPool) Enqueue(w *sender.Work) {
	p.mu.Lock()
	if p.closed || p.room == 0 {
		p.mu.Unlock()
		w.Runner.Abandon()
		return
	}
	p.room--
	p.waiting.Push(w)
	if p.idle > 0 {
		p.more.Signal()
	}
	p.mu.Unlock()
}

// Close refuses work from now on, and returns when all that was waiting has been run. It may be called
// from any thread but a worker, and repeatedly.
func (p *ThreadPool) Close() {
	p.mu.Lock()
	p.closed = true
	p.more.Broadcast()
	p.mu.Unlock()
	p.workers.Wait()
}

func (p *ThreadPool) work() {
	for w := p.next(); w != nil; w = p.next() {
		w.Runner.Run()
	}
}

// next waits for work and takes it, or returns nil when the pool is closed and nothing is waiting.
func (p *ThreadPool) next() *sender.Work {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.waiting.Empty() && !p.closed {
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
