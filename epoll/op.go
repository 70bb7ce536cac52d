package epoll

import (
	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// verdict says what one attempt at an entry came to.
type verdict uint8

const (
	finished   verdict = iota // its final completion is in the queue
	progress                  // it wants another turn
	wouldBlock                // the descriptor is not ready
)

// supported are the opcodes that issue knows.
var supported = [...]uring.Op{
	uring.OpNop, uring.OpAccept, uring.OpConnect, uring.OpRecv, uring.OpSend, uring.OpSendmsg, uring.OpRecvmsg,
	uring.OpClose, uring.OpPollAdd, uring.OpAsyncCancel, uring.OpSendZC, uring.OpSendmsgZC,
	uring.OpRead, uring.OpWrite, uring.OpReadv, uring.OpWritev, uring.OpReadFixed, uring.OpWriteFixed, uring.OpReadMultishot,
	uring.OpFsync, uring.OpFallocate, uring.OpFtruncate,
	uring.OpOpenat, uring.OpStatx, uring.OpRenameat, uring.OpUnlinkat, uring.OpMkdirat, uring.OpSymlinkat, uring.OpLinkat,
	uring.OpSplice, uring.OpTee, uring.OpWaitid,
}

// issue starts an entry: it completes, or it is parked.
func (r *Ring) issue(i uint32) {
	e := r.slab.at(i)
	e.at = issued
	if e.Flags&^uring.SQEBufferSelect != 0 || e.Personality != 0 {
		r.fail(i, unix.EINVAL)
		return
	}
	switch e.Opcode {
	case uring.OpRecv, uring.OpRecvmsg:
		r.issueRecv(i)
	case uring.OpSend, uring.OpSendmsg:
		r.issueSend(i)
	case uring.OpAsyncCancel:
		r.issueCancel(i)
	case uring.OpRead, uring.OpWrite, uring.OpReadv, uring.OpWritev, uring.OpReadFixed, uring.OpWriteFixed, uring.OpReadMultishot:
		r.issueRW(i)
	case uring.OpAccept:
		r.issueAccept(i)
	case uring.OpConnect:
		r.issueConnect(i)
	case uring.OpPollAdd:
		r.issuePoll(i)
	case uring.OpClose:
		r.issueClose(i)
	case uring.OpFsync, uring.OpFallocate, uring.OpFtruncate:
		r.issueFile(i)
	case uring.OpOpenat:
		r.issueOpen(i)
	case uring.OpStatx, uring.OpRenameat, uring.OpUnlinkat, uring.OpMkdirat, uring.OpSymlinkat, uring.OpLinkat:
		r.issuePath(i)
	case uring.OpSplice, uring.OpTee:
		r.issueSplice(i)
	case uring.OpWaitid:
		r.issueWaitid(i)
	case uring.OpNop:
		r.issueNop(i)
	case uring.OpSendZC, uring.OpSendmsgZC:
		r.issueSendZC(i)
	default:
		r.fail(i, unix.EINVAL)
	}
}

// attempt makes the system call of an entry once.
func (r *Ring) attempt(i uint32) verdict {
	switch op := r.slab.at(i).Opcode; op {
	case uring.OpRecv:
		return r.recv(i)
	case uring.OpSend, uring.OpSendZC:
		return r.send(i)
	case uring.OpSendmsg, uring.OpSendmsgZC:
		return r.sendmsg(i)
	case uring.OpRecvmsg:
		return r.recvmsg(i)
	case uring.OpAccept:
		return r.accept(i)
	case uring.OpConnect:
		return r.connect(i)
	case uring.OpRead, uring.OpReadv, uring.OpReadFixed, uring.OpReadMultishot:
		return r.read(i)
	case uring.OpSplice, uring.OpTee:
		r.spliceAgain(i)
		return finished
	default:
		if assert.Enabled && op != uring.OpWrite && op != uring.OpWritev && op != uring.OpWriteFixed {
			panic("epoll: an entry is parked that cannot be attempted")
		}
		return r.write(i)
	}
}

// finish posts the final completion of an entry and frees it.
func (r *Ring) finish(i uint32, res int32, flags uint32) {
	e := r.slab.at(i)
	cqe := uring.CQE{UserData: e.UserData, Res: res, Flags: flags}
	if e.at.inFlight() {
		r.unpark(i)
	}
	if e.mark&notifies != 0 {
		r.notify(e, res)
	} else {
		r.cq.push(cqe)
	}
	r.give(i)
}

// post posts a completion of a multishot entry, which stays. It goes behind the others in its list.
func (r *Ring) post(i uint32, res int32, flags uint32) {
	e := r.slab.at(i)
	e.mark |= posted
	r.cq.push(uring.CQE{UserData: e.UserData, Res: res, Flags: flags | uring.CQEMore})
	if e.next != 0 && e.at.inFlight() {
		l := r.files.at(e.Fd).listOf(e.at)
		r.unlink(l, i)
		r.append(l, i)
	}
}

// fail finishes an entry with an error; or, as the kernel does, with what it has moved already.
func (r *Ring) fail(i uint32, errno unix.Errno) {
	e := r.slab.at(i)
	res, flags := -int32(errno), uint32(0)
	if e.done != 0 {
		res, flags = int32(e.done), r.useBuffer(e)
	}
	r.dropBuffer(e)
	r.finish(i, res, flags)
}

// finishRaw finishes an entry with the result of a system call.
func (r *Ring) finishRaw(i uint32, n int) { r.finish(i, int32(n), 0) }

func (r *Ring) issueNop(i uint32) {
	e := r.slab.at(i)
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
	case e.Ioprio != 0 || e.OpFlags != 0:
		r.fail(i, unix.EINVAL)
	default:
		r.finish(i, 0, 0)
	}
}

// issueClose closes a descriptor. As with the kernel, what is in flight on the file goes on: then the
// number stays taken until that has completed, although entries find it closed.
func (r *Ring) issueClose(i uint32) {
	e := r.slab.at(i)
	f := r.file(e.Fd)
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
	case e.Ioprio != 0 || e.Off != 0 || e.Addr != 0 || e.Len != 0 || e.OpFlags != 0 || e.BufIndex != 0 || e.FileIndex != 0:
		r.fail(i, unix.EINVAL)
	case int(e.Fd) == r.epfd || int(e.Fd) == r.waker.Fd() || f != nil && f.state&closing != 0:
		r.fail(i, unix.EBADF)
	case f != nil && f.live != 0:
		f.state |= closing
		r.finish(i, 0, 0)
	default:
		r.finishRaw(i, r.close(e.Fd))
	}
}
