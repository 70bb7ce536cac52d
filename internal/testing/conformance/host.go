package conformance

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// Machine plays cases, each on a separate host. See Process and Simulated.
type Machine interface {
	each(t *testing.T, play func(t *testing.T, h host))
}

// host is the machine that a case is played on: its threads, its clock, and its system calls.
type host interface {
	// newLoop makes a loop, which a thread is to run.
	newLoop() (*reactor.Loop, error)
	// spawn starts a thread.
	spawn(name string, f func())
	// thread returns the id of the calling thread.
	thread() int
	// newSignal makes a signal.
	newSignal() signal
	// now returns the time, in nanoseconds, on the clock of the loops.
	now() int64
	// patience returns how long anything may take before the case is given up. Nothing is expected to.
	patience() time.Duration
	// deliver waits until what was sent has arrived, and what is complete is with the loop's ring.
	deliver()
	// descriptors counts the open descriptors.
	descriptors() int
	// temp makes a directory for files that are removed after the case.
	temp(t *testing.T) string
	// child starts a process that waits for a signal to end it.
	child(t *testing.T) (pid int)
	// kill sends a child a signal.
	kill(pid int, sig unix.Signal) error
	// interrupt sends the process of the loop a signal.
	interrupt(sig unix.Signal) error
	// accepts returns what a case may result in, with the faults of the host, if want is its result without them.
	accepts(situation, expectation) expectation
	// lacks returns why the host has no such case; "" if it has.
	lacks(expectation) string

	calls
}

// signal is how one thread wakes another.
type signal interface {
	// raise may be called a thousand times ahead of wait.
	raise()
	// wait waits, on the calling thread, for a raise that has not been waited for. False: not within patience.
	wait() bool
}

// calls are the system calls that cases and peers make, as package unix has them. On a descriptor without O_NONBLOCK
// they wait on the calling thread. Bytes that are sent have arrived when the call returns, if there is room for them.
type calls interface {
	Socket(family, kind, protocol int) (fd int, err error)
	Socketpair(family, kind, protocol int) (fds [2]int, err error)
	Bind(fd int, sa unix.Sockaddr) error
	Listen(fd, backlog int) error
	Accept4(fd, flags int, from []byte) (conn, n int, err error)
	Connect(fd int, sa unix.Sockaddr) error
	Getsockname(fd int) (unix.Sockaddr, error)
	SetsockoptInt(fd, level, opt, value int) error
	SetsockoptLinger(fd, level, opt int, l unix.Linger) error
	SetsockoptString(fd, level, opt int, s string) error
	Shutdown(fd, how int) error
	Pipe2(fds []int, flags int) error
	Open(path string, flags int, perm uint32) (int, error)
	Mkdir(path string, perm uint32) error
	Read(fd int, p []byte) (int, error)
	Write(fd int, p []byte) (int, error)
	Send(fd int, p []byte, flags int) error
	Recvfrom(fd int, p []byte, flags int) (int, unix.Sockaddr, error)
	FcntlInt(fd uintptr, cmd, arg int) (int, error)
	Poll(fds []unix.PollFd, timeout int) (int, error)
	Close(fd int) error
}
