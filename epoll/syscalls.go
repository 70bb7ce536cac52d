package epoll

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// raw makes a system call that does not block. It returns the result, or the negated errno. The
// scheduler is not told: that is cheaper, and wrong for anything that can wait.
func raw(trap, a, b, c, d, e, f uintptr) int {
	n, _, errno := unix.RawSyscall6(trap, a, b, c, d, e, f)
	if errno != 0 {
		return -int(errno)
	}
	return int(n)
}

// blocking makes a system call that may wait.
func blocking(trap, a, b, c, d, e, f uintptr) int {
	n, _, errno := unix.Syscall6(trap, a, b, c, d, e, f)
	if errno != 0 {
		return -int(errno)
	}
	return int(n)
}

// Negated errnos, as raw returns them.
const (
	again       = -int(unix.EAGAIN)
	unsupported = -int(unix.EOPNOTSUPP)
	illegalSeek = -int(unix.ESPIPE)
	interrupted = -int(unix.EINTR)
)

// pointer reads an address out of a submission entry.
func pointer(addr *uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(addr)) }

// scratch is what small system calls point to. It is part of the ring, so that nothing escapes or
// moves.
type scratch struct {
	event  unix.EpollEvent
	poll   unix.PollFd
	zero   unix.Timespec
	limit  [2]int64 // a struct __kernel_timespec, the same on every machine
	value  int32
	length uint32
	header unix.Msghdr
	iov    unix.Iovec
	vec    [1]vector
	stat   unix.Stat_t
	how    unix.OpenHow
	info   [128]byte // a siginfo_t
}

func (r *Ring) epollCtl(op int, fd int32, gen uint32) unix.Errno {
	r.tmp.event = unix.EpollEvent{Events: interest, Fd: fd, Pad: int32(gen)}
	n := raw(unix.SYS_EPOLL_CTL, uintptr(r.epfd), uintptr(op), uintptr(fd), uintptr(unsafe.Pointer(&r.tmp.event)), 0, 0)
	return unix.Errno(-n)
}

// sockopt reads an integer option of level SOL_SOCKET; a negative result is a negated errno.
func (r *Ring) sockopt(fd int32, option int) int {
	r.tmp.length = uint32(unsafe.Sizeof(r.tmp.value))
	n := raw(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, uintptr(option),
		uintptr(unsafe.Pointer(&r.tmp.value)), uintptr(unsafe.Pointer(&r.tmp.length)), 0)
	if n < 0 {
		return n
	}
	return int(r.tmp.value)
}

// events asks poll(2) which of the events hold on fd now.
func (r *Ring) events(fd int32, want uint32) uint32 {
	r.tmp.poll = unix.PollFd{Fd: fd, Events: int16(want)}
	n := raw(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&r.tmp.poll)), 1, uintptr(unsafe.Pointer(&r.tmp.zero)), 0, 0, 0)
	if n <= 0 {
		return 0
	}
	return uint32(uint16(r.tmp.poll.Revents))
}
