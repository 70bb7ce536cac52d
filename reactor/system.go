package reactor

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// System is what a Loop asks of the machine besides its ring: which thread it is on, what time it is,
// and the calls on sockets that do not block and so need no entry. It is the kernel of the process; a
// simulation has one of its own.
//
// The calls are those of package unix, with its errors. Descriptors are of the same numbering as the
// ring's.
type System interface {
	BindThread() int // bind the calling goroutine to its thread for good; returns the thread's id
	Thread() int     // the id of the calling thread
	Clock() int64    // monotonic, in nanoseconds, never 0; from any thread

	Socket(family, kind, protocol int) (int, error)
	SetsockoptInt(fd, level, opt, value int) error
	SetsockoptLinger(fd, level, opt int, l *unix.Linger) error
	Bind(fd int, sa unix.Sockaddr) error
	Listen(fd, backlog int) error
	Accept4(fd, flags int) (int, unix.Sockaddr, error)
	Shutdown(fd, how int) error
	Close(fd int) error
	Getsockname(fd int) (unix.Sockaddr, error)
	Getpeername(fd int) (unix.Sockaddr, error)
	IoctlGetInt(fd int, req uint) (int, error)
}

// process is the kernel as a System.
type process struct{}

func (process) BindThread() int {
	runtime.LockOSThread()
	return unix.Gettid()
}

func (process) Thread() int { return unix.Gettid() }

var epoch = time.Now()

// Clock is the time since the process began, plus one so that zero can mean never.
func (process) Clock() int64 { return int64(time.Since(epoch)) + 1 }

func (process) Socket(family, kind, protocol int) (int, error) {
	return unix.Socket(family, kind, protocol)
}

func (process) SetsockoptInt(fd, level, opt, value int) error {
	return unix.SetsockoptInt(fd, level, opt, value)
}

func (process) SetsockoptLinger(fd, level, opt int, l *unix.Linger) error {
	return unix.SetsockoptLinger(fd, level, opt, l)
}

func (process) Bind(fd int, sa unix.Sockaddr) error { return unix.Bind(fd, sa) }

func (process) Listen(fd, backlog int) error { return unix.Listen(fd, backlog) }

func (process) Accept4(fd, flags int) (int, unix.Sockaddr, error) { return unix.Accept4(fd, flags) }

func (process) Shutdown(fd, how int) error { return unix.Shutdown(fd, how) }

func (process) Close(fd int) error { return unix.Close(fd) }

func (process) Getsockname(fd int) (unix.Sockaddr, error) { return unix.Getsockname(fd) }

func (process) Getpeername(fd int) (unix.Sockaddr, error) { return unix.Getpeername(fd) }

func (process) IoctlGetInt(fd int, req uint) (int, error) { return unix.IoctlGetInt(fd, req) }
