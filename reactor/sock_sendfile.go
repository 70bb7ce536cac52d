package reactor

import (
	"syscall"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// sendFileSender sends a part of a file. See Socket.SendFile.
type sendFileSender struct {
	affine
	s   *Socket
	f   *File
	off int64
	n   int64
}

// SendFile is a sender of the number of bytes of f sent, from offset off on: n of them, or all until the end of the
// file if that comes first, or if n is negative. They do not pass through the program's memory. The file's position
// stays as it is.
//
// If it is stopped, or the socket or the file closed, when a part has been sent, it completes with the length of
// that part; what of the file was on its way to the socket is not counted, not sent, and can be sent from
// off + that length. An error of the socket or the file is the operation's, whatever was sent before.
//
// The operation has a pipe of its own while it is in flight, and fails with EMFILE or the like if it can have none.
//
// Kernel operation: IORING_OP_SPLICE into the pipe and out of it, splice(2); IORING_OP_POLL_ADD while the socket has
// no room.
func (s *Socket) SendFile(f *File, off, n int64) sendFileSender {
	return sendFileSender{s: s, f: f, off: off, n: n}
}

// Connect prepares op.
func (c sendFileSender) Connect(op *SendFileOp, r sender.Receiver[int64]) sender.Operation {
	op.what = c
	op.about(c.s.loop, &c.s.Descriptor, &c.f.Descriptor)
	op.r = r
	return op
}

// SendFileOp is the operation state of SendFile.
type SendFileOp struct {
	couple[int64]
	what   sendFileSender
	phase  sendFilePhase
	pipe   [2]int
	inPipe int
	sent   int64
	waits  waiting
	wrong  uint8
	atEnd  bool // of the file
}

// sendFilePhase is what the entry is about.
type sendFilePhase uint8

const (
	sendFileFills sendFilePhase = iota // the pipe, from the file
	sendFileDrains
	sendFileWaits // for room
)

// sendFilePipe is how much is moved at a time, if the system lets a pipe have that size: see pipe(7).
const sendFilePipe = 1 << 18

// Start begins to send. It may be called again after each completion.
func (o *SendFileOp) Start() {
	o.phase, o.inPipe, o.sent, o.wrong, o.atEnd = sendFileFills, 0, 0, 0, false
	o.pipe = [2]int{-1, -1}
	o.sqe.PrepNop()
	token := o.r.Env().StopToken()
	if !o.begin(o, token) {
		return
	}
	sys := o.loop.sys
	if err := sys.Pipe2(o.pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		o.pipe = [2]int{-1, -1}
		o.ready(resultOf(err))
		return
	}
	_, _ = sys.FcntlInt(uintptr(o.pipe[1]), unix.F_SETPIPE_SZ, sendFilePipe) // else it is smaller
	o.prep()
	o.arm()
	o.heed(token)
}

// left is how much is still to be taken from the file.
func (o *SendFileOp) left() int64 {
	if o.what.n < 0 {
		return sendFilePipe
	}
	return o.what.n - o.sent - int64(o.inPipe)
}

func (o *SendFileOp) prep() {
	socket := int(o.on.fd)
	switch o.phase {
	case sendFileFills:
		off := offset(o.what.off + o.sent)
		o.sqe.PrepSplice(int(o.what.f.fd), off, o.pipe[1], uring.FilePosition, uint32(min(o.left(), sendFilePipe)), unix.SPLICE_F_MOVE)
	case sendFileDrains:
		flags := uint32(unix.SPLICE_F_NONBLOCK | unix.SPLICE_F_MOVE)
		if o.left() > 0 && !o.atEnd {
			flags |= unix.SPLICE_F_MORE
		}
		o.sqe.PrepSplice(o.pipe[0], uring.FilePosition, socket, uring.FilePosition, uint32(o.inPipe), flags)
	case sendFileWaits:
		o.waits.poll(&o.op, o.on, unix.POLLOUT)
	}
}

func (o *SendFileOp) item(res int32, _ uint32) { o.waits.item(&o.op, res) }

func (o *SendFileOp) finish() {
	if o.phase == sendFileWaits && !o.waits.answered(&o.op, o.on) {
		return
	}
	errno := syscall.Errno(max(-o.res, 0))
	switch {
	case errno == syscall.EAGAIN && o.phase == sendFileDrains && o.wrong < maxPolls:
		o.wrong++
		o.phase = sendFileWaits
	case errno == syscall.EINTR: // nothing was done
	case errno != 0:
		o.end()
		return
	case o.phase == sendFileWaits:
		o.phase = sendFileDrains
	case o.phase == sendFileFills:
		o.inPipe, o.atEnd = int(o.res), o.res == 0
		o.phase = sendFileDrains
	default:
		o.wrong = 0
		o.inPipe -= int(o.res)
		o.sent += int64(o.res)
	}
	if o.phase == sendFileDrains && o.inPipe == 0 {
		if o.atEnd || o.left() <= 0 {
			o.end()
			return
		}
		o.phase = sendFileFills
	}
	if o.over() {
		o.res = -int32(syscall.ECANCELED)
		o.end()
		return
	}
	o.prep()
	o.arm()
}

// end completes with what was sent, or why nothing more could be. What is left in the pipe goes with it: it is
// still in the file.
func (o *SendFileOp) end() {
	for _, fd := range o.pipe {
		if fd >= 0 {
			o.loop.forget(fd)
			_ = o.loop.sys.Close(fd)
		}
	}
	o.release()
	if o.res < 0 && (o.sent == 0 || !o.cancelled()) {
		o.fail(nil)
		return
	}
	o.r.SetValue(o.sent)
}
