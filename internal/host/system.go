package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// System is the machine of a loop besides its ring: threads, a clock, and the system calls that do not block and so
// need no entry.
//
// The system calls behave as in package unix, with its errors. Descriptors are numbered as those of the ring.
type System interface {
	// BindThread binds the calling goroutine to its thread for good, and returns the thread's id.
	BindThread() int
	// Yield lets Go's scheduler run other goroutines.
	Yield()
	// Pin lets the calling thread run on these CPUs only.
	Pin(cpus []int) error
	// Thread returns the id of the calling thread.
	Thread() int
	// Clock returns a monotonic time in nanoseconds, never 0. From any thread.
	Clock() int64
	// ThreadTime returns the CPU time that a thread has used, in nanoseconds; 0 if unknown. From any thread.
	ThreadTime(thread int) int64

	SocketSystem

	IoctlGetInt(fd int, req uint) (int, error)
	Close(fd int) error

	Pipe2(fds []int, flags int) error
	FcntlInt(fd uintptr, cmd, arg int) (int, error)
	Eventfd(initval uint, flags int) (int, error)
	Read(fd int, p []byte) (int, error)
	Write(fd int, p []byte) (int, error) // from any thread
	PidfdOpen(pid, flags int) (int, error)
	Waitid(idType, id int, info *unix.Siginfo, options int, rusage *unix.Rusage) error

	// Offload runs f on another thread, on which f may block.
	Offload(f func())
	// Notify calls f, on other threads, after sig has arrived. Signals that arrive before the call of f may share it.
	// When cancel has returned, f is no longer called.
	Notify(sig os.Signal, f func()) (cancel func())

	// The calls below may block. They are made on the threads of Offload.

	Getdents(fd int, buf []byte) (int, error)
	Ftruncate(fd int, length int64) error
}

// SocketSystem is the system calls on sockets that do not block.
type SocketSystem interface {
	Socket(family, kind, protocol int) (int, error)
	Socketpair(family, kind, protocol int) ([2]int, error)
	Bind(fd int, sa unix.Sockaddr) error
	Listen(fd, backlog int) error
	Accept4(fd, flags int, from []byte) (conn, n int, err error) // n bytes of from become the peer's struct sockaddr
	Shutdown(fd, how int) error
	Recvfrom(fd int, p []byte, flags int) (int, unix.Sockaddr, error) // flags have MSG_DONTWAIT
	Getsockname(fd int) (unix.Sockaddr, error)
	Getpeername(fd int) (unix.Sockaddr, error)

	GetsockoptInt(fd, level, opt int) (int, error)
	GetsockoptUint64(fd, level, opt int) (uint64, error)
	GetsockoptString(fd, level, opt int) (string, error)
	GetsockoptUcred(fd, level, opt int) (*unix.Ucred, error)
	GetsockoptTCPInfo(fd, level, opt int) (unix.TCPInfo, error)
	SetsockoptInt(fd, level, opt, value int) error
	SetsockoptUint64(fd, level, opt int, value uint64) error
	SetsockoptString(fd, level, opt int, s string) error
	SetsockoptLinger(fd, level, opt int, l unix.Linger) error
	SetsockoptIPMreqn(fd, level, opt int, mreq *unix.IPMreqn) error
	SetsockoptIPv6Mreq(fd, level, opt int, mreq *unix.IPv6Mreq) error
}

// Splicer is a System whose descriptors splice(2) takes.
type Splicer interface {
	System
	Splice(from, to, n int) (int, error)
}
