package host

import (
	"os"
	"os/signal"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Process returns the system of a real process: the kernel that it runs on. It is a [Splicer], too.
func Process() System { return process{} }

type process struct{}

var _ Splicer = process{}

func (process) BindThread() int {
	runtime.LockOSThread()
	return unix.Gettid()
}

func (process) Yield() { runtime.Gosched() }

func (process) Pin(cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return unix.SchedSetaffinity(0, &set)
}

func (process) Thread() int { return unix.Gettid() }

var epoch = time.Now()

// Clock returns the time since the process began, plus one so that zero can mean never.
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

// Notify makes a channel for each signal, with room for one: a signal that finds it full needs no second place.
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

// Splice calls splice(2) for at most n bytes, and does not wait.
func (process) Splice(from, to, n int) (int, error) {
	moved, err := unix.Splice(from, nil, to, nil, n, unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
	return int(moved), err
}
