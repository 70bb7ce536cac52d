package epoll

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// pool runs what can block, on at most limit goroutines, which are started on demand and end when there
// is nothing left to do. It is shared between the ring's thread and them.
type pool struct {
	limit int
	run   func(*task) int32 // makes the system call
	wake  func() error      // makes the ring look at the results
	ready atomic.Bool       // there are results
	group sync.WaitGroup

	mu      sync.Mutex
	queue   []task
	running int
	results []result
}

// task is an entry in the form that a worker needs: it must not touch the slab.
type task struct {
	entry uint32
	op    uring.Op
	fd    int32
	addr  uintptr
	size  uint32
	off   uint64
	flags uint32
}

type result struct {
	entry uint32
	res   int32
}

func (p *pool) submit(t task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, t)
	if p.running < p.limit {
		p.running++
		p.group.Go(p.work)
	}
}

func (p *pool) work() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue) != 0 {
		t := p.queue[0]
		p.queue = slices.Delete(p.queue, 0, 1)
		p.mu.Unlock()
		res := p.run(&t)
		p.mu.Lock()
		p.results = append(p.results, result{t.entry, res})
		if !p.ready.Swap(true) {
			// It can only fail when nobody listens any more.
			_ = p.wake()
		}
	}
	p.running--
}

// cancel takes a task back that no worker has begun.
func (p *pool) cancel(entry uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.queue)
	p.queue = slices.DeleteFunc(p.queue, func(t task) bool { return t.entry == entry })
	return len(p.queue) < n
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
	p.queue = nil
	p.mu.Unlock()
	p.group.Wait()
}

// run makes the system call, and returns its result or the negated errno.
func (t *task) run() int32 {
	for {
		n := t.call()
		if n != interrupted {
			return int32(n)
		}
	}
}

func (t *task) call() int {
	iov := struct {
		base uintptr
		size uintptr
	}{t.addr, uintptr(t.size)}
	trap := uintptr(unix.SYS_PREADV2)
	switch t.op {
	case uring.OpFsync:
		if t.flags != 0 {
			return blocking(unix.SYS_FDATASYNC, uintptr(t.fd), 0, 0, 0, 0, 0)
		}
		return blocking(unix.SYS_FSYNC, uintptr(t.fd), 0, 0, 0, 0, 0)
	case uring.OpWrite:
		trap = unix.SYS_PWRITEV2
	}
	n, _, errno := unix.Syscall6(trap, uintptr(t.fd), uintptr(unsafe.Pointer(&iov)), 1, uintptr(t.off), uintptr(t.off>>32), uintptr(t.flags))
	if errno != 0 {
		return -int(errno)
	}
	return int(n)
}

// reap posts what the pool has finished.
func (r *Ring) reap() {
	r.results = r.pool.collect(r.results[:0])
	for _, res := range r.results {
		e := r.slab.at(res.entry)
		if debug && e.at != pooled {
			panic("epoll: the pool finished an entry that it does not have")
		}
		var flags uint32
		if res.res >= 0 {
			flags = r.useBuffer(e)
		}
		r.dropBuffer(e)
		r.finish(res.entry, res.res, flags)
	}
}
