//go:build linux

package reactor

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// WaitProcessSender waits for a child to exit. See [Loop.WaitProcess].
type WaitProcessSender struct {
	affine
	l   *Loop
	pid int
}

// WaitProcess returns a sender that waits for the child of process id pid to end, reaps it and completes with its
// wait(2) status. Nothing else reaps the child: an operation that is stopped leaves it as it is, and no other child is
// touched. It fails with ECHILD for a process that is not a child, or was reaped otherwise (exec.Cmd.Wait,
// os.Process.Wait). One that is traced by another process has ended when its tracer has seen it: see ptrace(2).
//
// A program that exec.Cmd.Start has begun has the id Cmd.Process.Pid, until Process.Release sets that to -1.
// [File.OpenFromChild] makes a pipe for its output.
//
// Kernel operation: IORING_OP_WAITID (Linux 6.7), else IORING_OP_POLL_ADD of a pidfd_open(2) (Linux 5.4), and then
// a waitid(2) that does not block.
func (l *Loop) WaitProcess(pid int) WaitProcessSender { return WaitProcessSender{l: l, pid: pid} }

// Connect implements [sender.Sender].
func (c WaitProcessSender) Connect(op *WaitProcessOp, r sender.Receiver[syscall.WaitStatus]) sender.Operation {
	op.pid = c.pid
	op.policy, op.loop, op.on, op.r = policyFile, c.l, nil, r
	op.backoff.init(&op.op)
	return op
}

// WaitProcessOp is the operation state of [Loop.WaitProcess].
type WaitProcessOp struct {
	single[syscall.WaitStatus]
	pid     int
	pidfd   int // of the child, which the entry polls; -1 if the entry is a WAITID, or without one
	info    siginfo
	backoff backoff
}

// tracerBackoff is the time between two tries to reap a child that has ended but is its tracer's still.
const tracerBackoff = 10 * time.Millisecond

// siginfo is siginfo_t as waitid(2) fills it in.
type siginfo struct {
	signo  int32
	second int32 // errno, but on MIPS code
	third  int32 // code, but on MIPS errno
	child  struct {
		_      [0]uintptr // aligned as pointers are
		pid    int32
		uid    uint32
		status int32
	}
	_ [128]byte // no smaller than the kernel's
}

func (i *siginfo) code() int32 {
	if runtime.GOARCH[:3] == "mip" {
		return i.second
	}
	return i.third
}

// status returns what wait(2) would have returned: see CLD_EXITED in sigaction(2).
func (i *siginfo) status() syscall.WaitStatus {
	switch code, s := i.code(), syscall.WaitStatus(i.child.status); code {
	case 1: // CLD_EXITED
		return s & 0xff << 8
	case 3: // CLD_DUMPED
		return s | 0x80
	default: // CLD_KILLED
		return s
	}
}

// ended reports whether a waitid(2) that did not fail has reaped the child.
func (i *siginfo) ended() bool { return i.child.pid != 0 }

// Start begins to wait. It may be called again after each completion.
func (o *WaitProcessOp) Start() {
	env := o.env()
	o.info, o.pidfd = siginfo{}, -1
	if o.loop.ops.Has(uring.OpWaitid) {
		o.sqe.PrepWaitid(unix.P_PID, o.pid, unix.WEXITED, unsafe.Pointer(&o.info))
		o.start(o, env)
		return
	}
	o.sqe.PrepPollAdd(-1, unix.POLLIN)
	token := env.StopToken()
	if !o.begin(o, token) {
		return
	}
	// The handle first: whatever happens to the number, no other child is waited for.
	fd, err := o.loop.sys.PidfdOpen(o.pid, 0)
	if err != nil {
		if err == error(unix.ESRCH) { //nolint:errorlint // it is bare
			err = unix.ECHILD
		}
		o.ready(outcomeOf(resultOf(err)))
		return
	}
	o.pidfd = fd
	if out := o.reap(); !out.done() || o.info.ended() {
		o.ready(out)
		return
	}
	o.sqe.Fd = int32(fd)
	o.arm()
	o.watch(token)
}

// reap reaps the child if it has ended.
func (o *WaitProcessOp) reap() outcome {
	info := (*unix.Siginfo)(unsafe.Pointer(&o.info))
	for {
		err := o.loop.sys.Waitid(unix.P_PIDFD, o.pidfd, info, unix.WEXITED|unix.WNOHANG, nil)
		if out := outcomeOf(resultOf(err)); !out.is(syscall.EINTR) {
			return out
		}
	}
}

func (o *WaitProcessOp) onCompletion(out outcome) {
	if out.done() && o.pidfd >= 0 && !o.info.ended() { // the poll reports that it has ended
		switch out = o.reap(); {
		case !out.done() || o.info.ended():
		case o.over():
			out = o.cancelled()
		default:
			o.backoff.begin(tracerBackoff)
			return
		}
	}
	o.backoff.end()
	if o.pidfd >= 0 {
		o.loop.forget(o.pidfd)
		_ = o.loop.sys.Close(o.pidfd)
	}
	o.complete(o.info.status(), out)
}
