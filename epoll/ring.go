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

// Config sizes a Ring. The zero value works.
type Config struct {
	// Entries is how many submissions are queued before Push submits them itself; it is rounded up to
	// a power of two. Default 1024.
	Entries int
	// BatchBytes bounds what one Enter receives before it returns, so that what was received is still
	// in the cache when it is used. A quarter of a core's L2 cache is about right. Default 256 KiB.
	BatchBytes int
	// Workers bounds the goroutines, and so the threads, that do what can block: see the package comment.
	// Default 4 a processor, as the kernel has it for io_uring.
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

// eventBatch is how many events one look at the epoll set takes.
const eventBatch = 256

// wakeFd marks the events of the ring's own eventfd.
const wakeFd = -1

// Ring is an io_uring in software. See the package comment for its contract.
type Ring struct {
	epfd   int
	waker  uring.Waker
	batch  int  // bytes
	unseen int  // what was done since the last look at the epoll set: see haste
	woken  bool // by Wake, and Enter has not said so yet
	coarse bool // there is no epoll_pwait2(2)
	owner  int  // the thread that called Enable; only kept when debugging

	sq      []uint32 // pushed entries, in order
	entries int
	cq      completions
	slab    entries
	used    uint32 // how much of the slab was ever used
	free    uint32
	users   users

	files                pages[int32, file] // by descriptor
	readyHead, readyTail int32              // the ready list: descriptors plus one
	spent                int                // bytes of the batch used up
	seen                 [eventBatch]unix.EpollEvent

	groups      []*group
	messages    []*message
	freeMessage uint32
	pool        pool
	results     []result
	direct      direct
	unfiled     list // entries in the pool for no descriptor
	expecting   list // entries that wait for a child process
	children    children
	fixed       [][]byte
	tmp         scratch
	crowded     []int32   // descriptors with a connect that is to be tried again
	retryAt     time.Time // when
	minWait     time.Duration
	found       int  // events of the last look
	sparse      bool // the last wait was for one event, or none
}

// New makes a ring.
func New(cfg Config) (*Ring, error) {
	cfg = cfg.withDefaults()
	r := &Ring{
		batch:    cfg.BatchBytes,
		entries:  cfg.Entries,
		sq:       make([]uint32, 0, cfg.Entries),
		messages: make([]*message, 1),
		pool:     pool{limit: cfg.Workers, run: task.run},
	}
	r.users.init(1 << bits.Len(uint(cfg.Entries)))
	r.pool.init(r.waker.Wake)
	var err error
	if r.epfd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := r.waker.Open(); err != nil {
		return nil, errors.Join(os.NewSyscallError("eventfd", err), unix.Close(r.epfd))
	}
	// The eventfd is never read: each write to it is an edge.
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: wakeFd}
	if err := unix.EpollCtl(r.epfd, unix.EPOLL_CTL_ADD, r.waker.Fd(), &ev); err != nil {
		return nil, errors.Join(os.NewSyscallError("epoll_ctl", err), r.Close())
	}
	return r, nil
}

// Enable binds the ring to the calling thread, which the caller keeps locked (runtime.LockOSThread).
// Before it only Push, RegisterBuffers, Wake and Close may be called.
func (r *Ring) Enable() error {
	r.owner = unix.Gettid()
	return nil
}

// check asserts that the ring's own thread is calling.
func (r *Ring) check() {
	if assert.Enabled && r.owner != 0 && r.owner != unix.Gettid() {
		panic("epoll: a ring is used by a thread that is not its own")
	}
}

// Push queues a copy of one entry. A full queue is submitted first.
func (r *Ring) Push(sqe *uring.SQE) {
	r.check()
	if len(r.sq) == r.entries {
		r.submit()
	}
	r.sq = append(r.sq, r.take(sqe))
}

func (r *Ring) submit() {
	for _, i := range r.sq {
		r.issue(i)
	}
	r.sq = r.sq[:0]
	if r.direct.n != 0 {
		r.submitDirect()
	}
}

// Pop takes one completion.
func (r *Ring) Pop(cqe *uring.CQE) bool {
	r.check()
	return r.cq.pop(cqe)
}

// Wake makes a waiting Enter return, or else the next one that would wait. From any thread, at any
// time.
func (r *Ring) Wake() error { return r.waker.Wake() }

// Caps says what the ring can do.
func (r *Ring) Caps() uring.Caps {
	c := uring.Caps{
		Ring: "epoll", Buffers: true, AcceptMultishot: true, RecvMultishot: true, RecvLimit: true, RecvmsgMultishot: true, SendTo: true, PollMultishot: true,
	}
	for _, op := range supported {
		c.Ops.Add(op)
	}
	return c
}

// Close frees the ring. What is in flight is dropped without a completion; what the pool or io_submit(2) has begun
// is waited for, because it uses the caller's memory: that can take as long as the disk does.
func (r *Ring) Close() error {
	if r.epfd < 0 {
		return nil
	}
	r.children.close()
	r.pool.close()
	r.direct.close()
	errs := r.closeOpened()
	for n, page := range r.files.page {
		for i := range page {
			if page != nil && page[i].state&closing != 0 {
				errs = append(errs, os.NewSyscallError("close", unix.Close(n<<pageBits|i)))
			}
		}
	}
	errs = append(errs, r.waker.Close(), os.NewSyscallError("close", unix.Close(r.epfd)))
	r.epfd = -1
	return errors.Join(errs...)
}
