//go:build linux

package uring

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Probe returns what an io_uring of this process can do. It asks the kernel for its features and opcodes, and tries the
// rest; it never decides by a version. The answer is found once, and kept. If it could not be found because descriptors
// or memory had run out, the next Probe tries again. An error matches [ErrUnavailable]. From any thread.
func Probe() (Caps, error) { return known.get() }

// answer caches the result of a probe.
type answer struct {
	mu    sync.Mutex
	probe func() (Caps, error)
	found bool
	caps  Caps
	err   error
}

var known = answer{probe: probe}

func (a *answer) get() (Caps, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.found {
		return a.caps, a.err
	}
	caps, err := a.probe()
	if a.found = !transient(err); a.found {
		a.caps, a.err = caps, err
	}
	return caps, err
}

// transient reports whether err only says that something has run out for now.
func transient(err error) bool {
	for _, errno := range []unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENOBUFS, unix.EAGAIN} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

func probe() (Caps, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r, err := newBare()
	if err != nil {
		return Caps{}, err
	}
	defer r.Close()
	if err := r.Enable(); err != nil {
		return Caps{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	p := prober{r: r}
	c := &r.caps
	c.Ring = "io_uring"
	if c.Ops, err = r.probeOps(); err != nil {
		return Caps{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	// Everything that follows is tried. The ring does not have what fails, unless it could not be tried.
	c.PollMultishot = p.pollMultishot()
	c.AcceptMultishot = p.acceptMultishot()
	p.buffers(c)
	c.SendTo = p.sendTo()
	c.MinWait = p.minWait()
	c.Restrictions = p.restrictions()
	if p.short != nil {
		return Caps{}, fmt.Errorf("%w: it could not be tried: %w", ErrUnavailable, p.short)
	}
	return *c, nil
}

// probeOp is struct io_uring_probe_op; probeReply is struct io_uring_probe.
type probeOp struct {
	op    uint8
	_     uint8
	flags uint16
	_     uint32
}

type probeReply struct {
	lastOp, opsLen uint8
	_              uint16
	_              [3]uint32
	ops            [64]probeOp
}

func (r *Ring) probeOps() (ops OpSet, err error) {
	var reply probeReply
	if _, err := r.register(registerProbe, unsafe.Pointer(&reply), uintptr(len(reply.ops))); err != nil {
		return ops, os.NewSyscallError("io_uring_register(PROBE)", err)
	}
	for _, op := range reply.ops[:min(int(reply.opsLen), len(reply.ops))] {
		if op.flags&1 != 0 { // IO_URING_OP_SUPPORTED
			ops.Add(Op(op.op))
		}
	}
	return ops, nil
}

// prober tries operations on a separate ring.
type prober struct {
	r     *Ring
	short error // the first error that says nothing about the kernel
}

// failed reports whether err is not nil, and keeps it if it says nothing about the kernel.
func (p *prober) failed(err error) bool {
	if p.short == nil && transient(err) {
		p.short = err
	}
	return err != nil
}

// run submits one entry and returns its next completion, or false if none comes within the time.
func (p *prober) run(sqe *SQE, userData uint64) (cqe CQE, ok bool) {
	sqe.UserData = userData
	p.r.Push(sqe)
	for deadline := time.Now().Add(probeTime); time.Now().Before(deadline); {
		if p.failed(p.r.Enter(probeTime)) {
			return cqe, false
		}
		for p.r.Pop(&cqe) {
			if cqe.UserData == userData {
				return cqe, true
			}
		}
	}
	return cqe, false
}

// probeTime bounds the wait of a probe for what a kernel that has the feature does immediately.
const probeTime = 100 * time.Millisecond

func (p *prober) pollMultishot() bool {
	if err := p.r.waker.Wake(); err != nil {
		return false
	}
	var sqe SQE
	sqe.PrepPollMultishot(p.r.waker.Fd(), unix.POLLIN)
	cqe, ok := p.run(&sqe, 1)
	return ok && cqe.Res > 0 && cqe.More()
}

// acceptMultishot arms a multishot accept on a listener to which nothing connects, and cancels it. A kernel without
// multishot accepts completes the entry immediately, so the cancel does not find it.
func (p *prober) acceptMultishot() bool {
	ln, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if p.failed(err) {
		return false
	}
	defer unix.Close(ln)
	if p.failed(unix.Bind(ln, &unix.SockaddrUnix{})) || p.failed(unix.Listen(ln, 1)) {
		return false
	}
	var sqe SQE
	sqe.PrepAcceptMultishot(ln, unix.SOCK_CLOEXEC)
	sqe.UserData = 2
	p.r.Push(&sqe)
	sqe.PrepCancel(2)
	cqe, ok := p.run(&sqe, 3)
	return ok && cqe.Res == 0
}

// buffers receives into provided buffers.
func (p *prober) buffers(c *Caps) {
	mem, err := unix.Mmap(-1, 0, probeBuffers*probeSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if p.failed(err) {
		return
	}
	defer func() { _ = unix.Munmap(mem) }()
	if p.failed(p.r.RegisterBuffers(0, mem, probeSize)) {
		return
	}
	for i := range uint16(probeBuffers) {
		p.r.ProvideBuffer(0, i)
	}
	c.Buffers = true
	text := func(b []byte) bool { return string(b) == probeText }
	more, ok := p.recvMultishot(mem, 4, text, func(sqe *SQE, fd int) {
		sqe.PrepRecvMultishot(fd, 0, 0)
		sqe.LimitRecv(uint32(len(probeText)))
	})
	c.RecvLimit = ok && !more
	more, ok = p.recvMultishot(mem, 5, text, func(sqe *SQE, fd int) { sqe.PrepRecvMultishot(fd, 0, 0) })
	c.RecvMultishot = ok && more
	msg := new(unix.Msghdr)
	more, ok = p.recvMultishot(mem, 6, func(b []byte) bool {
		n := int(unsafe.Sizeof(RecvmsgOut{}))
		return len(b) >= n && text(b[n:]) && (*RecvmsgOut)(unsafe.Pointer(&b[0])).Payloadlen == uint32(len(probeText))
	}, func(sqe *SQE, fd int) { sqe.PrepRecvmsgMultishot(fd, 0, unsafe.Pointer(msg), 0) })
	runtime.KeepAlive(msg)
	c.RecvmsgMultishot = ok && more
}

const (
	probeText = "probe"
	probeSize = 64 // of a buffer

	probeBuffers = 4 // one for each try, and one
)

// recvMultishot receives a few bytes from a new socket, by the entry that prep makes, so that nothing is left from an
// entry that the kernel refused. It reports whether good accepts what came, and whether more would have come.
func (p *prober) recvMultishot(
	mem []byte, userData uint64, good func([]byte) bool, prep func(sqe *SQE, fd int),
) (more, ok bool) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if p.failed(err) {
		return false, false
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	if _, err := unix.Write(fds[1], []byte(probeText)); p.failed(err) {
		return false, false
	}
	var sqe SQE
	prep(&sqe, fds[0])
	cqe, ok := p.run(&sqe, userData)
	id, named := cqe.BufferID()
	if !ok || !named || cqe.Res < 0 || cqe.Res > probeSize || !good(mem[int(id)*probeSize:][:cqe.Res]) {
		return false, false
	}
	if cqe.More() {
		sqe.PrepCancel(userData)
		p.run(&sqe, userData|1<<32)
	}
	return cqe.More(), true
}

// sendTo sends a datagram to a socket by its name. A kernel that does not know addresses in a send refuses it.
func (p *prober) sendTo() bool {
	var fds [2]int
	for i := range fds {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if p.failed(err) {
			return false
		}
		defer unix.Close(fd)
		fds[i] = fd
	}
	if p.failed(unix.Bind(fds[0], &unix.SockaddrUnix{})) { // the kernel chooses an abstract name
		return false
	}
	name, text := new(unix.RawSockaddrUnix), []byte(probeText)
	n := uint32(unsafe.Sizeof(*name))
	if _, _, errno := unix.Syscall(unix.SYS_GETSOCKNAME, uintptr(fds[0]),
		uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&n))); errno != 0 {
		return false
	}
	var sqe SQE
	sqe.PrepSend(fds[1], unsafe.Pointer(&text[0]), uint32(len(text)), unix.MSG_NOSIGNAL)
	sqe.To(unsafe.Pointer(name), uint16(n))
	cqe, ok := p.run(&sqe, 7)
	runtime.KeepAlive(name)
	runtime.KeepAlive(text)
	return ok && int(cqe.Res) == len(text)
}

// minWait waits for more completions than there are. A kernel without a minimum wait refuses the field, which it takes
// for padding. A kernel that has it returns when the minimum has passed, before the timeout.
func (p *prober) minWait() bool {
	var sqe SQE
	sqe.PrepNop()
	sqe.UserData = 8
	p.r.Push(&sqe)
	if p.failed(p.r.Enter(0)) {
		return false
	}
	p.r.wait.minWaitUsec, p.r.wait.timespec = 1, timespec{nsec: int64(probeTime / 10)}
	start := time.Now()
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, p.r.enterFd, 0, 2, p.r.enterFlags|enterExtArg,
		uintptr(unsafe.Pointer(&p.r.wait)), waitArgSize)
	p.r.wait.minWaitUsec = 0
	var cqe CQE
	return p.r.Pop(&cqe) && errno == 0 && time.Since(start) < probeTime/10
}

// restrictions tries what a restricted ring must refuse.
func (p *prober) restrictions() bool {
	r, err := newBare()
	if p.failed(err) {
		return false
	}
	defer r.Close()
	r.caps.Ops = p.r.caps.Ops
	if p.failed(r.Restrict(Restrictions{})) || p.failed(r.Enable()) {
		return false
	}
	restricted := prober{r: r}
	var sqe SQE
	sqe.PrepNop()
	cqe, ok := restricted.run(&sqe, 9)
	return !p.failed(restricted.short) && ok && cqe.Res == -int32(unix.EACCES)
}
