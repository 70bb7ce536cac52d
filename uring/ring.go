//go:build linux

package uring

import (
	"fmt"
	"math/bits"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mmap offset of the submission entries, see io_uring_setup(2). The rings themselves are at 0.
const offSQEs = 0x10000000

// Bits of the kernel's flags word in the submission ring.
const (
	sqCQOverflow uint32 = 1 << 1
	sqTaskrun    uint32 = 1 << 2
)

// Flags of io_uring_enter(2).
const (
	enterGetevents      = 1 << 0
	enterExtArg         = 1 << 3
	enterRegisteredRing = 1 << 4
	enterNoIOWait       = 1 << 7
)

// wakeUserData marks completions of the ring's own poll on its eventfd. They never reach the user.
const wakeUserData = ^uint64(0)

// Ring is an io_uring. See the package documentation for its contract.
type Ring struct {
	// The submission side: sqTail is ours, the kernel consumes at *kSQHead.
	sqes             []SQE
	sqMask           uint32
	sqHead, sqTail   uint32 // sqHead is a copy of *kSQHead, perhaps an old one
	kSQHead, kSQTail *uint32
	kSQFlags         *uint32
	backlog          []SQE // entries for which the kernel had no room; mostly empty
	transfers        int   // reads and writes that were queued since the last submission
	transferBatch    int   // how many of them Push submits at a time
	// The completion side: cqHead is ours, the kernel produces at *kCQTail.
	cqes             unsafe.Pointer
	cqMask           uint32
	cqHead, cqTail   uint32 // cqTail is a copy of *kCQTail, perhaps an old one
	kCQHead, kCQTail *uint32
	direct           directSend

	fd         int // the ring's descriptor
	enterFd    uintptr
	enterFlags uintptr
	wait       waitArg
	minWait    time.Duration
	waker      Waker
	groups     []*bufRing
	caps       Caps
	wakeLost   bool // the poll of the eventfd has failed: see recoverWake
	overflows  atomic.Uint64
	workers    int
	ringMem    []byte
	sqeMem     []byte
}

// waitArg is struct io_uring_getevents_arg with the timespec it points to. It is part of the Ring,
// which is on the heap: the kernel reads it while the thread waits.
type waitArg struct {
	sigmask     uint64
	sigmaskSize uint32
	minWaitUsec uint32
	ts          uint64
	timespec    timespec
}

// timespec is struct __kernel_timespec, which is the same on 32-bit machines; unix.Timespec is not.
type timespec struct{ sec, nsec int64 }

const waitArgSize = unsafe.Offsetof(waitArg{}.timespec)

// New makes a ring that is not yet bound to a thread. An error matches [ErrUnavailable].
func New(cfg Config) (*Ring, error) {
	cfg = cfg.withDefaults()
	support, err := Probe()
	if err != nil {
		return nil, err
	}
	fd, p, err := setup(cfg, setupCall)
	if err != nil {
		return nil, err
	}
	r := &Ring{fd: fd, caps: support, workers: cfg.Workers}
	if err := r.init(&p); err != nil {
		r.unmap()
		unix.Close(fd)
		return nil, err
	}
	return r, nil
}

// newBare makes a ring without the wake-up and without probing, for the probe itself.
func newBare() (*Ring, error) {
	fd, p, err := setup(Config{Entries: 8, CQEntries: 64}, setupCall)
	if err != nil {
		return nil, err
	}
	r := &Ring{fd: fd, workers: 1}
	if err := r.init(&p); err != nil {
		r.unmap()
		unix.Close(fd)
		return nil, err
	}
	return r, nil
}

func (r *Ring) init(p *params) error {
	if err := r.mmap(p); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := r.waker.Open(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, os.NewSyscallError("eventfd", err))
	}
	r.caps.Setup, r.caps.Features = p.flags, p.features
	r.enterFd, r.enterFlags, r.transferBatch = uintptr(r.fd), enterGetevents, fewTransfers
	if p.features&FeatNoIOWait != 0 {
		r.enterFlags |= enterNoIOWait
	}
	r.wait.ts = addr(unsafe.Pointer(&r.wait.timespec))
	return nil
}

func (r *Ring) mmap(p *params) (err error) {
	size := p.cqOff.cqes + p.cqEntries*uint32(unsafe.Sizeof(CQE{}))
	if p.flags&SetupNoSQArray == 0 {
		size = max(size, p.sqOff.array+p.sqEntries*4)
	}
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	if r.ringMem, err = unix.Mmap(r.fd, 0, int(size), prot, flags); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	if r.sqeMem, err = unix.Mmap(r.fd, offSQEs, int(p.sqEntries)*int(unsafe.Sizeof(SQE{})), prot, flags); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	word := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.ringMem[off])) }
	r.kSQHead, r.kSQTail, r.kSQFlags = word(p.sqOff.head), word(p.sqOff.tail), word(p.sqOff.flags)
	r.kCQHead, r.kCQTail = word(p.cqOff.head), word(p.cqOff.tail)
	r.sqMask, r.cqMask = p.sqEntries-1, p.cqEntries-1
	r.sqes = unsafe.Slice((*SQE)(unsafe.Pointer(&r.sqeMem[0])), p.sqEntries)
	r.cqes = unsafe.Pointer(&r.ringMem[p.cqOff.cqes])
	if p.flags&SetupNoSQArray == 0 {
		// The indirection array stays the identity: slot i of the ring is entry i.
		array := unsafe.Slice(word(p.sqOff.array), p.sqEntries)
		for i := range array {
			array[i] = uint32(i)
		}
	}
	return nil
}

// Enable binds the ring to the calling thread, which from then on is the only one to use it. The goroutine must be
// locked to its thread (runtime.LockOSThread) until [Ring.Close].
func (r *Ring) Enable() error {
	if _, err := r.register(registerEnableRings, nil, 0); err != nil {
		return os.NewSyscallError("io_uring_register(ENABLE_RINGS)", err)
	}
	// What follows makes the ring cheaper; it works without.
	if index, err := r.registerRingFd(); err == nil {
		r.enterFd, r.enterFlags = uintptr(index), r.enterFlags|enterRegisteredRing
	}
	limits := [2]uint32{uint32(r.workers), uint32(r.workers)}
	_, _ = r.register(registerIOWQMaxWorkers, unsafe.Pointer(&limits), 2)
	r.armWake()
	return nil
}

// armWake asks for a completion at every write to the eventfd. It polls rather than reads because
// reading an eventfd through io_uring has been broken in some kernels.
func (r *Ring) armWake() {
	var sqe SQE
	sqe.PrepPollMultishot(r.waker.Fd(), unix.POLLIN)
	sqe.UserData = wakeUserData
	r.Push(&sqe)
}

// Push queues a copy of one entry. It always finds room: a full queue is submitted first, and if the kernel does not
// take it, the entry waits in a backlog that [Ring.Enter] submits in order. Push itself submits reads and writes, a few
// at a time, and a send that is the only entry. The user_data ^uint64(0) is reserved for the ring.
func (r *Ring) Push(sqe *SQE) {
	if r.direct.entered && r.sendNow(sqe) {
		return
	}
	if r.sqTail-r.sqHead > r.sqMask || len(r.backlog) != 0 {
		if !r.makeRoom() {
			r.backlog = append(r.backlog, *sqe)
			return
		}
	}
	r.put(sqe)
	if uint64(transfers)>>sqe.Opcode&1 != 0 {
		r.countTransfer()
	}
}

func (r *Ring) put(sqe *SQE) {
	r.sqes[r.sqTail&r.sqMask] = *sqe
	r.sqTail++
}

// makeRoom submits until the queue has room for another entry behind the whole backlog.
func (r *Ring) makeRoom() bool {
	for {
		r.sqHead = atomic.LoadUint32(r.kSQHead)
		n := min(int(r.sqMask+1-(r.sqTail-r.sqHead)), len(r.backlog))
		for i := range n {
			r.put(&r.backlog[i])
		}
		r.backlog = append(r.backlog[:0], r.backlog[n:]...)
		if r.sqTail-r.sqHead <= r.sqMask {
			return true
		}
		r.publish()
		n, errno := r.enter(r.sqTail-r.sqHead, r.enterFlags&^enterGetevents)
		if errno != 0 && errno != unix.EINTR || errno == 0 && n == 0 {
			return false
		}
	}
}

// publish makes what was queued, provided and consumed visible to the kernel.
func (r *Ring) publish() {
	atomic.StoreUint32(r.kSQTail, r.sqTail)
	atomic.StoreUint32(r.kCQHead, r.cqHead)
	for _, g := range r.groups {
		if g != nil {
			g.publish()
		}
	}
}

// Enter submits what is queued and, if there is no completion, waits for one, for a [Ring.Wake], or until the timeout
// has passed; 0 does not wait, a negative timeout has no limit. It may return early. An error means that the ring is
// unusable.
func (r *Ring) Enter(timeout time.Duration) error {
	r.direct.entered = true
	if len(r.backlog) != 0 {
		r.makeRoom()
	}
	r.publish()
	flags := atomic.LoadUint32(r.kSQFlags)
	if flags&sqCQOverflow != 0 {
		r.overflows.Add(1)
	}
	if r.sqTail != r.sqHead || flags&(sqTaskrun|sqCQOverflow) != 0 {
		// Submitting without waiting cannot block, so the Go scheduler does not learn of it.
		if err := r.submit(); err != nil {
			return err
		}
	}
	room := r.sqTail-r.sqHead <= r.sqMask
	if timeout == 0 || r.direct.state == directDone || r.ready() || len(r.backlog) != 0 && room {
		return nil
	}
	r.transferBatch = fewTransfers
	if r.wakeLost {
		return r.recoverWake(timeout)
	}
	return r.block(timeout)
}

// recoverWake waits for a short time, in which a Wake goes unnoticed, and polls the eventfd again. The next Enter
// submits that. If it fails, too, the ring waits again, and does not try all the time.
func (r *Ring) recoverWake(timeout time.Duration) error {
	r.wakeLost = false
	err := r.block(short(timeout))
	r.armWake()
	return err
}

// short returns the timeout of a wait behind which something is tried again.
func short(timeout time.Duration) time.Duration {
	if most := 10 * time.Millisecond; timeout < 0 || timeout > most {
		return most
	}
	return timeout
}

func (r *Ring) submit() error {
	r.transfers = 0
	for {
		_, errno := r.enter(r.sqTail-r.sqHead, r.enterFlags)
		r.sqHead = atomic.LoadUint32(r.kSQHead)
		switch errno {
		case 0, unix.EBUSY, unix.EAGAIN: // busy: completions must be taken first; again: no memory now
			return nil
		case unix.EINTR:
		default:
			return os.NewSyscallError("io_uring_enter", errno)
		}
	}
}

// block waits for a completion. It submits nothing, because the kernel does not wait when it could not
// take everything.
func (r *Ring) block(timeout time.Duration) error {
	if r.sqTail != r.sqHead { // the kernel has no memory for what is queued: it is submitted again soon
		timeout = short(timeout)
	}
	if r.minWait != 0 && !r.caps.MinWait {
		if timeout = r.sleepMinWait(timeout); timeout == 0 {
			return r.submit() // which also makes completions visible
		}
	}
	flags, enough := r.enterFlags, uintptr(1)
	arg, size := unsafe.Pointer(nil), uintptr(0)
	if r.minWait != 0 && r.caps.MinWait {
		if timeout < 0 {
			timeout = longTimeout
		}
		enough, r.wait.minWaitUsec = manyCompletions, uint32(min(r.minWait, timeout)/time.Microsecond)
	}
	if timeout > 0 {
		r.wait.timespec = timespec{int64(timeout / time.Second), int64(timeout % time.Second)}
		flags |= enterExtArg
		arg, size = unsafe.Pointer(&r.wait), waitArgSize
	}
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, r.enterFd, 0, enough, flags, uintptr(arg), size)
	switch errno {
	case 0, unix.ETIME, unix.EINTR, unix.EBUSY, unix.EAGAIN:
		return nil
	}
	return os.NewSyscallError("io_uring_enter", errno)
}

// enter calls io_uring_enter(2) without a wait.
func (r *Ring) enter(submit uint32, flags uintptr) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, r.enterFd, uintptr(submit), 0, flags, 0, 0)
	return int(n), errno
}

func (r *Ring) ready() bool {
	if r.cqHead == r.cqTail {
		r.cqTail = atomic.LoadUint32(r.kCQTail)
	}
	return r.cqHead != r.cqTail
}

// Pop takes one completion. It reports false if none is there now.
func (r *Ring) Pop(cqe *CQE) bool {
	if r.direct.state == directDone {
		*cqe, r.direct.state = r.direct.cqe, directNone
		return true
	}
	for r.ready() {
		*cqe = *(*CQE)(unsafe.Add(r.cqes, uintptr(r.cqHead&r.cqMask)*unsafe.Sizeof(CQE{})))
		r.cqHead++
		if cqe.UserData != wakeUserData {
			if r.direct.state == directPartial {
				r.direct.addSent(cqe)
			}
			return true
		}
		switch {
		case cqe.More():
		case cqe.Res < 0:
			r.wakeLost = true
		default:
			r.armWake()
		}
	}
	return false
}

// Wake makes [Ring.Enter] return, now or the next time it would wait. From any thread.
func (r *Ring) Wake() error { return r.waker.Wake() }

// Caps returns what the ring can do.
func (r *Ring) Caps() Caps { return r.caps }

// Overflows returns how many times [Ring.Enter] has found that completions waited behind a full completion queue, which
// is slow: see [Config].CQEntries. None of them is lost. From any thread, after [Ring.Close] too.
func (r *Ring) Overflows() uint64 { return r.overflows.Load() }

// Fd returns the ring's descriptor, for /proc/self/fdinfo and the like.
func (r *Ring) Fd() int { return r.fd }

// Close gives the ring back to the kernel. The kernel cancels the entries in flight but does not wait for them: if
// there are any, the memory that they point to must be kept. On the ring's thread.
func (r *Ring) Close() error {
	if r.fd < 0 {
		return nil
	}
	r.unregisterRingFd()
	r.unmap()
	err := unix.Close(r.fd)
	r.fd = -1
	for _, g := range r.groups {
		if g != nil {
			g.unmap()
		}
	}
	if werr := r.waker.Close(); err == nil {
		err = werr
	}
	return err
}

func (r *Ring) unmap() {
	for _, mem := range [][]byte{r.ringMem, r.sqeMem} {
		if mem != nil {
			_ = unix.Munmap(mem)
		}
	}
	r.ringMem, r.sqeMem = nil, nil
}

// ceilPow2 returns the smallest power of two that is at least n.
func ceilPow2(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }
