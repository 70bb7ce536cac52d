package host

import (
	"os"
	"os/signal"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Process is the System of a real process: the kernel that it runs on.
type Process struct{}

func (Process) BindThread() int {
	runtime.LockOSThread()
	return unix.Gettid()
}

func (Process) Thread() int { return unix.Gettid() }

var epoch = time.Now()

// Clock is the time since the process began, plus one so that zero can mean never.
func (Process) Clock() int64 { return int64(time.Since(epoch)) + 1 }

// ThreadTime reads the thread's CPU clock, whose id is made as clock_getcpuclockid(3) and pthread_getcpuclockid(3)
// make them.
func (Process) ThreadTime(thread int) int64 {
	const perThread, scheduled = 4, 2 // CPUCLOCK_PERTHREAD_MASK, CPUCLOCK_SCHED
	var ts unix.Timespec
	if unix.ClockGettime(int32(^thread<<3|perThread|scheduled), &ts) != nil {
		return 0
	}
	return ts.Nano()
}

func (Process) Close(fd int) error { return unix.Close(fd) }

func (Process) IoctlGetInt(fd int, req uint) (int, error) { return unix.IoctlGetInt(fd, req) }

func (Process) Pipe2(fds []int, flags int) error { return unix.Pipe2(fds, flags) }

func (Process) FcntlInt(fd uintptr, cmd, arg int) (int, error) { return unix.FcntlInt(fd, cmd, arg) }

func (Process) Eventfd(initval uint, flags int) (int, error) { return unix.Eventfd(initval, flags) }

func (Process) Read(fd int, p []byte) (int, error) { return unix.Read(fd, p) }

func (Process) Write(fd int, p []byte) (int, error) { return unix.Write(fd, p) }

func (Process) PidfdOpen(pid, flags int) (int, error) { return unix.PidfdOpen(pid, flags) }

func (Process) Waitid(idType, id int, info *unix.Siginfo, options int, rusage *unix.Rusage) error {
	return unix.Waitid(idType, id, info, options, rusage)
}

func (Process) Offload(f func()) { go f() }

// Notify has a channel for each signal, with room for one: a signal that finds it full is told by what is there.
func (Process) Notify(sig os.Signal, f func()) (cancel func()) {
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

func (Process) Getdents(fd int, buf []byte) (int, error) { return unix.Getdents(fd, buf) }

func (Process) Ftruncate(fd int, length int64) error { return unix.Ftruncate(fd, length) }

// Splice is splice(2) of at most n bytes, which does not wait.
func (Process) Splice(from, to, n int) (int, error) {
	moved, err := unix.Splice(from, nil, to, nil, n, unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
	return int(moved), err
}
