//go:build linux

package epoll

import (
	"errors"
	"math/bits"
	"os"
	"runtime"
	"time"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// Config sizes a [Ring]. The zero value works.
type Config struct {
	// Entries is the number of submissions that are queued before [Ring.Push] submits them itself. It is rounded up to
	// a power of two. Default 1024.
	Entries int
	// BatchBytes bounds the bytes that one [Ring.Enter] receives before it returns, so that they are still in the cache
	// when they are used. A quarter of a core's L2 cache is about right. Default 256 KiB.
	BatchBytes int
	// Workers bounds the goroutines, and so the threads, that make system calls which can block: see the section on
	// files in the package documentation. Default 4 for each processor, as the kernel has it for io_uring.
	Workers int
}

func (c Config) withDefaults() Config {
	if c.Entries <= 0 {
		c.Entries = 1024
	}
	c.Entries = 1 << bits.Len(uint(c.Entries-1))
	if c.BatchBytes <= 0 {
		c.BatchBytes = 256 << 10
	}
	if c.Workers <= 0 {
		c.Workers = 4 * runtime.GOMAXPROCS(0)
	}
	return c
}

// Ring is an io_uring in software. See the package documentation for its contract.
type Ring struct {
	owner  int // the thread that called Enable; only compared if assertions are enabled
	poller poller
	waker  uring.Waker

	queued     []uint32 // pushed entries, in order
	queueLimit int
	cq         completions
	entries    entries
	byUserData userDataTable
	messages   messages
	tmp        scratch

	files    files
	groups   groups
	several  batch
	fixed    fixedBuffers
	retries  connectRetries
	children children
	pool     pool
	results  []result // of the pool, while they are dealt with
	direct   direct

	batch     int  // bytes that one Enter may receive
	spent     int  // bytes of the batch that were received
	sinceTurn int  // what was done since the epoll set was last asked: see haste
	woken     bool // by Wake, and Enter has not reported it yet
	found     int  // events that the epoll set last had
	sparse    bool // the last wait was for at most one event
	minWait   time.Duration
	// duplicates: a descriptor was closed while a duplicate kept its file, and with it the registration, which cannot be
	// removed any more. Those to come are removed before they are closed.
	duplicates bool
	hasteTime  time.Duration // the constant, but in tests
	hasteEnds  time.Time     // zero if the epoll set was asked
}

// New makes a ring.
func New(cfg Config) (*Ring, error) {
	cfg = cfg.withDefaults()
	r := &Ring{
		batch:      cfg.BatchBytes,
		queueLimit: cfg.Entries,
		queued:     make([]uint32, 0, cfg.Entries),
		pool:       pool{limit: cfg.Workers, run: task.run},
		hasteTime:  hasteTime,
	}
	r.messages.init()
	r.byUserData.init(1 << bits.Len(uint(cfg.Entries)))
	r.pool.init(r.waker.Wake)
	var err error
	if r.poller.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := r.waker.Open(); err != nil {
		return nil, errors.Join(os.NewSyscallError("eventfd", err), closeError(r.poller.fd))
	}
	// The eventfd is never read: each write to it is an edge.
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: wakeFd}
	if err := unix.EpollCtl(r.poller.fd, unix.EPOLL_CTL_ADD, r.waker.Fd(), &ev); err != nil {
		return nil, errors.Join(os.NewSyscallError("epoll_ctl", err), r.Close())
	}
	return r, nil
}

// Enable binds the ring to the calling thread, which the caller keeps locked (runtime.LockOSThread). Before Enable only
// [Ring.Push], [Ring.RegisterBuffers], [Ring.SetMinWait], [Ring.Wake] and [Ring.Close] may be called.
func (r *Ring) Enable() error {
	r.owner = unix.Gettid()
	return nil
}

// check asserts that the ring's own thread is calling.
func (r *Ring) check() {
	if assert.Enabled && r.owner != 0 && r.owner != unix.Gettid() {
		panic("epoll: a ring is used by a thread that is not its own; only Wake may be called from another thread")
	}
}

// Push queues a copy of one entry. If the queue is full, it is submitted first.
func (r *Ring) Push(sqe *uring.SQE) {
	r.check()
	if len(r.queued) == r.queueLimit {
		r.submit()
	}
	r.queued = append(r.queued, r.entries.take(sqe).index)
}

func (r *Ring) submit() {
	for queued := r.queued; len(queued) != 0; {
		n := r.sendBatch(queued)
		if n == 0 {
			r.issue(r.entries.at(queued[0]))
			n = 1
		}
		queued = queued[n:]
	}
	r.queued = r.queued[:0]
	if r.direct.queued != 0 {
		r.submitDirect()
	}
}

// Pop takes one completion. It reports false if the queue is empty.
func (r *Ring) Pop(cqe *uring.CQE) bool {
	r.check()
	return r.cq.pop(cqe)
}

// Wake makes a waiting [Ring.Enter] return, or else the next one that would wait. From any thread, at any time.
func (r *Ring) Wake() error { return r.waker.Wake() }

// Caps returns what the ring can do.
func (r *Ring) Caps() uring.Caps {
	c := uring.Caps{
		Ring: "epoll", Buffers: true, AcceptMultishot: true, RecvMultishot: true, RecvLimit: true,
		RecvmsgMultishot: true, SendTo: true, PollMultishot: true,
	}
	for _, op := range supported {
		c.Ops.Add(op)
	}
	return c
}

// Close frees the ring. Entries in flight are dropped without a completion. Close waits for the system calls that the
// pool or io_submit(2) has begun, because they use the caller's memory: that can take as long as the disk does.
func (r *Ring) Close() error {
	if r.poller.fd < 0 {
		return nil
	}
	r.children.close()
	r.pool.close()
	r.direct.close()
	errs := append(r.closeOpened(), r.closeRequestedFiles()...)
	errs = append(errs, r.waker.Close(), closeError(r.poller.fd))
	r.poller.fd = -1
	return errors.Join(errs...)
}
