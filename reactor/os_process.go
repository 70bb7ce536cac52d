package reactor

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/timerqueue"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// waitProcessSender waits for a child to exit. See Loop.WaitProcess.
type waitProcessSender struct {
	affine
	l   *Loop
	pid int
}

// WaitProcess is a sender of how the child of process id pid has ended, once it has: its status as wait(2) has it.
// The child is reaped by that, and by nothing else: an operation that is stopped leaves it as it is, and no other
// child is touched. A process that is not a child, or was reaped by somebody else (exec.Cmd.Wait, os.Process.Wait),
// is ECHILD. One that is traced by another process has ended when its tracer has seen it: see ptrace(2).
//
// Kernel operation: IORING_OP_WAITID (Linux 6.7), else IORING_OP_POLL_ADD of a pidfd_open(2) (Linux 5.4), and then
// a waitid(2) that does not block.
func (l *Loop) WaitProcess(pid int) waitProcessSender { return waitProcessSender{l: l, pid: pid} }

// Connect prepares op.
func (c waitProcessSender) Connect(op *WaitProcessOp, r sender.Receiver[syscall.WaitStatus]) sender.Operation {
	op.pid = c.pid
	op.rest.Init((*waitRest)(op))
	op.loop, op.on, op.r = c.l, nil, r
	return op
}

// WaitProcessOp is the operation state of WaitProcess.
type WaitProcessOp struct {
	single[syscall.WaitStatus]
	pid   int
	polls bool // the ring has no WAITID
	done  bool // info tells
	pidfd int  // -1: none
	info  siginfo
	rest  timerqueue.Timer
}

// processRest is how long passes between two looks at a child that has ended but is its tracer's still.
const processRest = 10 * time.Millisecond

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

// status is what wait(2) would have returned: see CLD_EXITED in sigaction(2).
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

// Start begins to wait. It may be called again after each completion.
func (o *WaitProcessOp) Start() {
	o.info, o.done, o.pidfd = siginfo{}, false, -1
	if o.polls = !o.loop.ops.Has(uring.OpWaitid); !o.polls {
		o.sqe.PrepWaitid(unix.P_PID, o.pid, unix.WEXITED, unsafe.Pointer(&o.info))
		o.start(o, o.r.Env())
		return
	}
	o.sqe.PrepPollAdd(-1, unix.POLLIN)
	token := o.r.Env().StopToken()
	if !o.begin(o, token) {
		return
	}
	// The handle first: whatever becomes of the number, no other child is waited for.
	fd, err := o.loop.sys.PidfdOpen(o.pid, 0)
	if err != nil {
		if err == error(unix.ESRCH) { //nolint:errorlint // it is bare
			err = unix.ECHILD
		}
		o.ready(resultOf(err))
		return
	}
	o.pidfd = fd
	if res := o.look(); res != 0 || o.done {
		o.ready(res)
		return
	}
	o.sqe.Fd = int32(fd)
	o.arm()
	o.heed(token)
}

// look reaps the child if it has ended.
func (o *WaitProcessOp) look() int32 {
	for {
		err := o.loop.sys.Waitid(unix.P_PIDFD, o.pidfd, (*unix.Siginfo)(unsafe.Pointer(&o.info)), unix.WEXITED|unix.WNOHANG, nil)
		if res := resultOf(err); res != -int32(syscall.EINTR) {
			o.done = res == 0 && o.info.child.pid != 0
			return res
		}
	}
}

func (o *WaitProcessOp) finish() {
	switch {
	case !o.polls:
		if o.interrupted() {
			return
		}
	case o.res > 0 && !o.done: // the poll says that it has ended
		switch o.res = o.look(); {
		case o.res != 0 || o.done:
		case o.over():
			o.res = -int32(syscall.ECANCELED)
		default:
			o.state = opDormant
			o.loop.timers.Push(&o.rest, o.loop.now+int64(processRest))
			return
		}
	}
	o.loop.timers.Remove(&o.rest)
	if o.pidfd >= 0 {
		o.loop.forget(o.pidfd)
		_ = o.loop.sys.Close(o.pidfd)
	}
	o.complete(o.info.status())
}

// waitRest is a WaitProcessOp as the handler of its timer.
type waitRest WaitProcessOp

func (t *waitRest) OnTimer(int64) {
	if t.state == opDormant {
		t.arm()
	}
}
