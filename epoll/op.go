//go:build linux

package epoll

import (
	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// supported are the opcodes that issue interprets. File op_x.go has the interpretation of a family of them.
var supported = [...]uring.Op{
	uring.OpNop, uring.OpClose, uring.OpAsyncCancel, uring.OpPollAdd, uring.OpWaitid,
	uring.OpAccept, uring.OpConnect, uring.OpRecv, uring.OpRecvmsg,
	uring.OpSend, uring.OpSendmsg, uring.OpSendZC, uring.OpSendmsgZC,
	uring.OpRead, uring.OpWrite, uring.OpReadv, uring.OpWritev, uring.OpReadFixed, uring.OpWriteFixed,
	uring.OpReadMultishot, uring.OpSplice, uring.OpTee,
	uring.OpFsync, uring.OpFallocate, uring.OpFtruncate,
	uring.OpOpenat, uring.OpStatx, uring.OpRenameat, uring.OpUnlinkat, uring.OpMkdirat, uring.OpSymlinkat,
	uring.OpLinkat,
}

// issue starts an entry: it completes, or it is parked.
func (r *Ring) issue(e *entry) {
	e.to(issued)
	if e.Flags&^uring.SQEBufferSelect != 0 || e.Personality != 0 {
		r.fail(e, unix.EINVAL)
		return
	}
	switch e.Opcode {
	case uring.OpRecv, uring.OpRecvmsg:
		r.issueRecv(e)
	case uring.OpSend, uring.OpSendmsg:
		r.issueSend(e)
	case uring.OpAsyncCancel:
		r.issueCancel(e)
	case uring.OpRead, uring.OpWrite, uring.OpReadv, uring.OpWritev, uring.OpReadFixed, uring.OpWriteFixed,
		uring.OpReadMultishot:
		r.issueReadWrite(e)
	case uring.OpAccept:
		r.issueAccept(e)
	case uring.OpConnect:
		r.issueConnect(e)
	case uring.OpPollAdd:
		r.issuePoll(e)
	case uring.OpClose:
		r.issueClose(e)
	case uring.OpFsync, uring.OpFallocate, uring.OpFtruncate:
		r.issueFile(e)
	case uring.OpOpenat:
		r.issueOpen(e)
	case uring.OpStatx, uring.OpRenameat, uring.OpUnlinkat, uring.OpMkdirat, uring.OpSymlinkat, uring.OpLinkat:
		r.issuePath(e)
	case uring.OpSplice, uring.OpTee:
		r.issueSplice(e)
	case uring.OpWaitid:
		r.issueWaitid(e)
	case uring.OpNop:
		r.issueNop(e)
	case uring.OpSendZC, uring.OpSendmsgZC:
		r.issueSendZC(e)
	default:
		r.fail(e, unix.EINVAL)
	}
}

func (r *Ring) issueNop(e *entry) {
	switch {
	case e.selectsBuffer():
		r.fail(e, unix.EOPNOTSUPP)
	case e.Ioprio != 0 || e.OpFlags != 0:
		r.fail(e, unix.EINVAL)
	default:
		r.finish(e, 0, 0)
	}
}

// verdict is the result of one attempt at an entry.
type verdict uint8

const (
	completed  verdict = iota // its final completion is in the queue, or it has been handed to the pool
	tryAgain                  // it can be attempted again immediately
	wouldBlock                // the descriptor is not ready
)

// attempt makes the system call of an entry once.
func (r *Ring) attempt(e *entry) verdict {
	switch op := e.Opcode; op {
	case uring.OpRecv:
		return r.recv(e)
	case uring.OpSend, uring.OpSendZC:
		return r.send(e)
	case uring.OpSendmsg, uring.OpSendmsgZC:
		return r.sendmsg(e)
	case uring.OpRecvmsg:
		return r.recvmsg(e)
	case uring.OpAccept:
		return r.accept(e)
	case uring.OpConnect:
		return r.connect(e)
	case uring.OpRead, uring.OpReadv, uring.OpReadFixed, uring.OpReadMultishot:
		return r.read(e)
	case uring.OpSplice, uring.OpTee:
		r.retrySplice(e)
		return completed
	default:
		if assert.Enabled && op != uring.OpWrite && op != uring.OpWritev && op != uring.OpWriteFixed {
			panic("epoll: an entry is parked that cannot be attempted")
		}
		return r.write(e)
	}
}

// attemptAll makes attempts until the entry has completed or the descriptor is not ready.
func (r *Ring) attemptAll(e *entry) verdict {
	for {
		if v := r.attempt(e); v != tryAgain {
			return v
		}
	}
}

// attemptNow finishes an entry that must not wait. One that wants the whole of a receive and has a part of it does not
// ask for more.
func (r *Ring) attemptNow(e *entry) {
	v := tryAgain
	for v == tryAgain && e.done == 0 {
		v = r.attempt(e)
	}
	if v != completed {
		r.fail(e, unix.EAGAIN)
	}
}

// resume deals with the result of a system call that the pool has made for an entry.
func (r *Ring) resume(e *entry, n int) {
	if assert.Enabled && e.state != pooled {
		panic("epoll: the pool finished an entry that it does not have")
	}
	switch e.Opcode {
	case uring.OpRead, uring.OpWrite, uring.OpReadv, uring.OpWritev, uring.OpReadFixed, uring.OpWriteFixed:
		r.transferred(e, n)
	case uring.OpOpenat:
		r.opened(e, n)
	case uring.OpSplice, uring.OpTee:
		if r.spliced(e, n) == tryAgain {
			r.retrySplice(e)
		}
	default:
		r.finishCall(e, n)
	}
}
