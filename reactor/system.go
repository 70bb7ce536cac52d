package reactor

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
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
	// ThreadTime is the CPU time that a thread has used, in nanoseconds; 0 if it is not known. From any thread.
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

	// Offload runs f on another thread, on which f may block. When f is done it posts to the loop.
	Offload(f func())
	// Notify has f called, on other threads, whenever sig has arrived: once at least for those that arrive before
	// the call. When cancel returns f is not called any more.
	Notify(sig os.Signal, f func()) (cancel func())

	// The next are called on the threads of Offload.

	Getdents(fd int, buf []byte) (int, error)
	Ftruncate(fd int, length int64) error
}

// resultOf is the result of an entry that failed with err, an error of System; 0 if it is nil.
func resultOf(err error) int32 {
	errno, ok := err.(syscall.Errno) //nolint:errorlint // it is bare, and errors.As allocates
	if err != nil && !ok {
		errno = syscall.EIO // it is not one of package unix
	}
	return -int32(errno)
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

// ThreadTime reads the thread's CPU clock, whose id is made as clock_getcpuclockid(3) and pthread_getcpuclockid(3)
// make them.
func (process) ThreadTime(thread int) int64 {
	const perThread, scheduled = 4, 2 // CPUCLOCK_PERTHREAD_MASK, CPUCLOCK_SCHED
	var ts unix.Timespec
	if unix.ClockGettime(int32(^thread<<3|perThread|scheduled), &ts) != nil {
		return 0
	}
	return ts.Nano()
}

func (process) Close(fd int) error { return unix.Close(fd) }

func (process) IoctlGetInt(fd int, req uint) (int, error) { return unix.IoctlGetInt(fd, req) }

func (process) Pipe2(fds []int, flags int) error { return unix.Pipe2(fds, flags) }

func (process) FcntlInt(fd uintptr, cmd, arg int) (int, error) { return unix.FcntlInt(fd, cmd, arg) }

func (process) Eventfd(initval uint, flags int) (int, error) { return unix.Eventfd(initval, flags) }

func (process) Read(fd int, p []byte) (int, error) { return unix.Read(fd, p) }

func (process) Write(fd int, p []byte) (int, error) { return unix.Write(fd, p) }

func (process) PidfdOpen(pid, flags int) (int, error) { return unix.PidfdOpen(pid, flags) }

func (process) Waitid(idType, id int, info *unix.Siginfo, options int, rusage *unix.Rusage) error {
	return unix.Waitid(idType, id, info, options, rusage)
}

func (process) Offload(f func()) { go f() }

// Notify has a channel for each signal, with room for one: a signal that finds it full is told by what is there.
func (process) Notify(sig os.Signal, f func()) (cancel func()) {
	c, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(c, sig)
	go func() {
		for range c {
			f()
		}
		close(done)
	}()
	return func() {
		signal.Stop(c)
		close(c)
		<-done
	}
}

func (process) Getdents(fd int, buf []byte) (int, error) { return unix.Getdents(fd, buf) }

func (process) Ftruncate(fd int, length int64) error { return unix.Ftruncate(fd, length) }
