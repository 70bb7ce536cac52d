package epoll

import (
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// pool makes the system calls that can block, on at most limit goroutines. These are started when there is
// more to do than they can, and stay until the pool is closed. It is shared between the ring's thread and
// them.
//
// No call in it waits for what another entry does: what would is made so that it returns EAGAIN, and waits
// for readiness on the loop. So whatever is queued comes to its turn.
type pool struct {
	limit int
	run   func(task) int // makes the system call
	wake  func() error   // makes the ring look at the results
	ready atomic.Bool    // there is something for the ring's thread to look at
	group sync.WaitGroup

	mu         sync.Mutex
	more       sync.Cond
	tasks      []task // by entry; those queued are linked, index 0 is nobody
	head, tail uint32
	workers    int
	idle       int
	closed     bool
	results    []result
}

// task is a system call: a worker must not touch the slab.
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
			p.more.Wait() // who signals has counted it as not idle
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

// notify makes the ring's thread look.
func (p *pool) notify() {
	if !p.ready.Swap(true) {
		// It can only fail when nobody listens any more.
		_ = p.wake()
	}
}

// cancel takes a task back that no worker has begun.
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

// close drops what no worker has begun, and waits for the others: they write to the caller's memory.
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
		r.returned(res.entry, res.n)
	}
	if r.children.due.Swap(false) {
		r.askChildren()
	}
}

// returned goes on with an entry whose system call the pool has made.
func (r *Ring) returned(i uint32, n int) {
	e := r.slab.at(i)
	if assert.Enabled && e.at != pooled && e.at != unfiled {
		panic("epoll: the pool finished an entry that it does not have")
	}
	switch e.Opcode {
	case uring.OpRead, uring.OpWrite, uring.OpReadv, uring.OpWritev, uring.OpReadFixed, uring.OpWriteFixed:
		r.transferred(i, n)
	case uring.OpOpenat:
		r.opened(i, n)
	case uring.OpSplice, uring.OpTee:
		r.spliced(i, n)
	default:
		r.finishRaw(i, n)
	}
}

// delegate hands a system call for an entry to the pool, wherever the entry is.
func (r *Ring) delegate(i uint32, at place, trap uintptr, a, b, c, d, e, f uintptr) {
	switch was := r.slab.at(i).at; {
	case was == issued:
		r.park(i, at)
	case was != at:
		r.move(i, at)
	}
	r.pool.submit(i, trap, [6]uintptr{a, b, c, d, e, f})
}

// delegateFile is delegate for an entry that works on a descriptor. One that is not open is found out here:
// the pool must not meet another file that gets its number later.
func (r *Ring) delegateFile(i uint32, c call) {
	fd := r.slab.at(i).Fd
	if errno := r.open(fd); errno != 0 {
		r.fail(i, errno)
		return
	}
	r.known(fd)
	r.delegate(i, pooled, c.trap, uintptr(fd), c.b, c.c, c.d, c.e, c.f)
}

// open says what is wrong with a descriptor that is not open, or only for use in paths.
func (r *Ring) open(fd int32) unix.Errno {
	flags := raw(unix.SYS_FCNTL, uintptr(fd), unix.F_GETFL, 0, 0, 0, 0)
	if flags < 0 || flags&unix.O_PATH != 0 || r.closed(fd) {
		return unix.EBADF
	}
	return 0
}
