package epoll

import (
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/internal/assert"
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

	mu         sync.Mutex
	more       sync.Cond
	tasks      []task // by entry; the queued ones are linked, and index 0 is none
	head, tail uint32
	workers    int
	idle       int
	closed     bool
	results    []result
}

// task is a system call. It is not part of the entry, which only the ring's thread may touch.
type task struct {
	trap uintptr
	args [6]uintptr

	prev, next uint32
	queued     bool // no worker has begun it
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
	for int(entry) >= len(p.tasks) {
		p.tasks = append(p.tasks, task{})
	}
	t := &p.tasks[entry]
	if assert.Enabled && t.queued {
		panic("epoll: an entry is in the pool twice")
	}
	*t = task{trap: trap, args: args, prev: p.tail, queued: true}
	if p.tail == 0 {
		p.head = entry
	} else {
		p.tasks[p.tail].next = entry
	}
	p.tail = entry
	switch {
	case p.idle != 0:
		p.idle--
		p.more.Signal()
	case p.workers < p.limit:
		p.workers++
		p.group.Go(p.work)
	}
}

// remove takes a task out of the queue.
func (p *pool) remove(entry uint32) {
	t := &p.tasks[entry]
	t.queued = false
	if t.prev == 0 {
		p.head = t.next
	} else {
		p.tasks[t.prev].next = t.next
	}
	if t.next == 0 {
		p.tail = t.prev
	} else {
		p.tasks[t.next].prev = t.prev
	}
}

func (p *pool) work() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for p.head == 0 && !p.closed {
			p.idle++
			p.more.Wait() // submit has counted it as not idle
		}
		if p.closed {
			return
		}
		entry := p.head
		p.remove(entry)
		t := p.tasks[entry]
		p.mu.Unlock()
		n := p.run(t)
		p.mu.Lock()
		p.results = append(p.results, result{entry, n})
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
	if int(entry) >= len(p.tasks) || !p.tasks[entry].queued {
		return false
	}
	p.remove(entry)
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
	p.head, p.tail, p.closed = 0, 0, true
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
