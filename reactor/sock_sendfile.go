//go:build linux

package reactor

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// SendFileSender sends a part of a file. See [Socket.SendFile].
type SendFileSender struct {
	affine
	s   *Socket
	f   *File
	off int64
	n   int64
}

// SendFile returns a sender that sends bytes of f from offset off on, and completes with their number: n of them, or
// all until the end of the file if that comes first, or if n is negative. They do not pass through the program's
// memory. The file's position stays as it is.
//
// If it is stopped, or the socket or the file closed, when a part has been sent, it completes with the length of
// that part; what of the file was on its way to the socket is not counted, not sent, and can be sent from
// off + that length. An error of the socket or the file is the operation's, whatever was sent before.
//
// The operation opens a pipe while it is in flight, and fails with EMFILE or the like if it cannot.
//
// Kernel operation: IORING_OP_SPLICE into the pipe and out of it, splice(2); IORING_OP_POLL_ADD while the socket has
// no room.
func (s *Socket) SendFile(f *File, off, n int64) SendFileSender {
	return SendFileSender{s: s, f: f, off: off, n: n}
}

// Connect implements [sender.Sender].
func (c SendFileSender) Connect(op *SendFileOp, r sender.Receiver[int64]) sender.Operation {
	op.what = c
	op.about(c.s.loop, &c.s.Descriptor, &c.f.Descriptor)
	op.r = r
	return op
}

// SendFileOp is the operation state of [Socket.SendFile].
type SendFileOp struct {
	single[int64]
	what   SendFileSender
	phase  sendFilePhase
	pipe   [2]int
	inPipe int
	sent   int64
	eof    bool // all of the file was read
}

// sendFilePhase says what the entry does: fill the pipe, drain it, fill it again.
type sendFilePhase uint8

const (
	sendFileFills  sendFilePhase = iota // from the file into the pipe
	sendFileDrains                      // from the pipe into the socket
)

// sendFilePipe is the number of bytes moved at a time, if the system lets a pipe have that size: see pipe(7).
const sendFilePipe = 1 << 18

// Start begins to send. It may be called again after each completion.
func (o *SendFileOp) Start() {
	token := o.env().StopToken()
	o.phase, o.inPipe, o.sent, o.eof = sendFileFills, 0, 0, false
	o.pipe = [2]int{-1, -1}
	o.sqe.PrepNop()
	if !o.begin(o, token) {
		return
	}
	sys := o.loop.sys
	if err := sys.Pipe2(o.pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		o.pipe = [2]int{-1, -1}
		o.ready(outcomeOf(resultOf(err)))
		return
	}
	_, _ = sys.FcntlInt(uintptr(o.pipe[1]), unix.F_SETPIPE_SZ, sendFilePipe) // else it is smaller
	o.prep()
	o.arm()
	o.watch(token)
}

// left returns how much is still to be taken from the file.
func (o *SendFileOp) left() int64 {
	if o.what.n < 0 {
		return sendFilePipe
	}
	return o.what.n - o.sent - int64(o.inPipe)
}

func (o *SendFileOp) prep() bool {
	if o.phase == sendFileFills {
		o.policy = policyFile
		off, n := offset(o.what.off+o.sent), uint32(min(o.left(), sendFilePipe))
		o.sqe.PrepSplice(int(o.what.f.fd), off, o.pipe[1], uring.FilePosition, n, unix.SPLICE_F_MOVE)
		return true
	}
	o.policy = policyDrain
	flags := uint32(unix.SPLICE_F_NONBLOCK | unix.SPLICE_F_MOVE)
	if o.left() > 0 && !o.eof {
		flags |= unix.SPLICE_F_MORE
	}
	socket := int(o.what.s.fd)
	o.sqe.PrepSplice(o.pipe[0], uring.FilePosition, socket, uring.FilePosition, uint32(o.inPipe), flags)
	return true
}

func (o *SendFileOp) onCompletion(out outcome) {
	if !out.done() {
		o.end(out)
		return
	}
	if o.phase == sendFileFills {
		o.inPipe, o.eof, o.phase = int(out.res), out.res == 0, sendFileDrains
	} else {
		o.inPipe -= int(out.res)
		o.sent += int64(out.res)
	}
	if o.inPipe == 0 {
		if o.eof || o.left() <= 0 {
			o.end(out)
			return
		}
		o.phase = sendFileFills
	}
	o.proceed(o)
}

// end completes with what was sent, or why nothing more could be. The rest in the pipe is dropped: it is still in the
// file.
func (o *SendFileOp) end(out outcome) {
	for _, fd := range o.pipe {
		if fd >= 0 {
			o.loop.forget(fd)
			_ = o.loop.sys.Close(fd)
		}
	}
	o.completePart(o.sent, out, o.sent != 0)
}
