//go:build linux

package epoll

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// raw makes a system call that does not block. It returns the result, or the negated errno. The Go scheduler does not
// learn of it, which is cheaper, and wrong for a call that can wait.
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

// scratch is memory that small system calls point to. It is part of the ring, so that nothing escapes or moves.
type scratch struct {
	poll   unix.PollFd
	zero   unix.Timespec
	value  int32
	length uint32
	header unix.Msghdr
	iov    unix.Iovec
	vec    [1]vector
	stat   unix.Stat_t
	how    unix.OpenHow
	info   [128]byte // a siginfo_t
}

// sockopt reads an integer option of level SOL_SOCKET. A negative result is a negated errno.
func (t *scratch) sockopt(fd int32, option int) int {
	t.length = uint32(unsafe.Sizeof(t.value))
	n := raw(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, uintptr(option),
		uintptr(unsafe.Pointer(&t.value)), uintptr(unsafe.Pointer(&t.length)), 0)
	if n < 0 {
		return n
	}
	return int(t.value)
}

// pollNow asks poll(2) which of the events hold on fd now.
func (t *scratch) pollNow(fd int32, want uint32) uint32 {
	t.poll = unix.PollFd{Fd: fd, Events: int16(want)}
	n := raw(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&t.poll)), 1, uintptr(unsafe.Pointer(&t.zero)), 0, 0, 0)
	if n <= 0 {
		return 0
	}
	return uint32(uint16(t.poll.Revents))
}

// headerOf makes a struct msghdr of a vector.
func (t *scratch) headerOf(vec []vector) uintptr {
	t.header = unix.Msghdr{Iov: (*unix.Iovec)(unsafe.Pointer(unsafe.SliceData(vec)))}
	t.header.SetIovlen(len(vec))
	return uintptr(unsafe.Pointer(&t.header))
}

// statusFlags returns the flags of an open file (O_RDWR, O_NONBLOCK, …), or a negated errno.
func statusFlags(fd int32) int { return raw(unix.SYS_FCNTL, uintptr(fd), unix.F_GETFL, 0, 0, 0, 0) }

func closeError(fd int) error { return os.NewSyscallError("close", unix.Close(fd)) }
