//go:build linux

package epoll

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/internal/intrusive"
)

// pool makes the system calls that can block, on at most limit goroutines, the workers. They are started when there are
// more calls than workers, and stay until the pool is closed. The pool is shared between the ring's thread and the
// workers.
//
// No call in the pool waits for another entry: a call that would is made so that it returns EAGAIN, and the entry waits
// for readiness on the loop. So every call that is queued is made in the end.
type pool struct {
	limit int
	run   func(task) int // makes the system call
	wake  func() error   // makes the ring collect the results
	ready atomic.Bool    // the ring's thread has something to collect
	group sync.WaitGroup

	mu      sync.Mutex
	more    sync.Cond
	tasks   pages[uint32, task] // by entry
	queue   intrusive.List      // the tasks that no worker has begun
	workers int
	idle    int
	closed  bool
	results []result
}

// task is a system call. It is not part of the entry, which only the ring's thread may touch.
type task struct {
	entry uint32
	trap  uintptr
	args  [6]uintptr
	links intrusive.Links
}

type result struct {
	entry uint32
	n     int // what the system call returned, or the negated errno
}

func (p *pool) init(wake func() error) {
	p.wake = wake
	p.more.L = &p.mu
}

// submit queues a system call for an entry.
func (p *pool) submit(entry uint32, trap uintptr, args [6]uintptr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.tasks.has(entry) {
		p.tasks.make(entry)
	}
	t := p.tasks.at(entry)
	if assert.Enabled && p.queue.Has(&t.links) {
		panic("epoll: an entry is in the pool twice")
	}
	*t = task{entry: entry, trap: trap, args: args}
	p.queue.PushBack(&t.links)
	switch {
	case p.idle != 0:
		p.idle--
		p.more.Signal()
	case p.workers < p.limit:
		p.workers++
		p.group.Go(p.work)
	}
}

func (p *pool) work() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for p.queue.Empty() && !p.closed {
			p.idle++
			p.more.Wait() // submit has counted it as not idle
		}
		if p.closed {
			return
		}
		t := *intrusive.Owner[task](p.queue.PopFront(), unsafe.Offsetof(task{}.links))
		p.mu.Unlock()
		n := p.run(t)
		p.mu.Lock()
		p.results = append(p.results, result{t.entry, n})
		p.notify()
	}
}

// notify makes the ring's thread collect.
func (p *pool) notify() {
	if !p.ready.Swap(true) {
		// It can only fail after the ring was closed.
		_ = p.wake()
	}
}

// cancel takes a task back. It reports false if a worker has begun it.
func (p *pool) cancel(entry uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.tasks.has(entry) || !p.queue.Has(&p.tasks.at(entry).links) {
		return false
	}
	p.queue.Remove(&p.tasks.at(entry).links)
	return true
}

// collect moves the results to into.
func (p *pool) collect(into []result) []result {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready.Store(false)
	into = append(into, p.results...)
	p.results = p.results[:0]
	return into
}

// close drops the calls that no worker has begun, and waits for the others: they write to the caller's memory.
func (p *pool) close() {
	p.mu.Lock()
	p.queue, p.closed = intrusive.List{}, true
	p.more.Broadcast()
	p.mu.Unlock()
	p.group.Wait()
}

// run makes the system call.
func (t task) run() int {
	for {
		n := blocking(t.trap, t.args[0], t.args[1], t.args[2], t.args[3], t.args[4], t.args[5])
		if n != interrupted {
			return n
		}
	}
}

// reap deals with what the pool has finished, and with what children have done.
func (r *Ring) reap() {
	r.results = r.pool.collect(r.results[:0])
	for _, res := range r.results {
		r.resume(r.entries.at(res.entry), res.n)
	}
	if r.children.changed.Swap(false) {
		r.askChildren()
	}
}

// delegate hands a system call for an entry to the pool, whether the entry is in flight already or not.
func (r *Ring) delegate(e *entry, trap, a, b, c, d, f, g uintptr) {
	switch e.state {
	case issued:
		r.park(e, pooled)
	case pooled:
	default:
		r.move(e, pooled, 0)
	}
	r.pool.submit(e.index, trap, [6]uintptr{a, b, c, d, f, g})
}
