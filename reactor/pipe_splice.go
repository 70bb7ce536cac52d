package reactor

import (
	"syscall"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// SpliceEnd is where Splice takes bytes from or puts them.
type SpliceEnd struct {
	d   *Descriptor
	off uint64
}

// Stream is the stream that a pipe or a socket is, or the position of a file.
func (d *Descriptor) Stream() SpliceEnd { return SpliceEnd{d, uring.FilePosition} }

// At is the offset off of a regular file, whose position stays as it is.
func (f *File) At(off int64) SpliceEnd { return SpliceEnd{&f.Descriptor, offset(off)} }

// spliceSender moves bytes inside the kernel. See Splice and Tee.
type spliceSender struct {
	affine
	from, to SpliceEnd
	n        int
	tee      bool
}

// Splice is a sender of the number of bytes moved between two places of one loop, at least one of which is a pipe,
// without a copy in the program's memory: at most n, and often fewer; 0 is the end of what they come from. Bytes
// are never lost: they are in one place or in the other, and if any were moved before a stop the operation
// completes with how many.
//
// It waits until there is something to move and until there is room, since the kernel does the moving on a thread of
// its own, of which there are few, which is not to wait. The operation counts on both descriptors; to close either
// ends it. Streams must have O_NONBLOCK.
//
// Kernel operation: IORING_OP_POLL_ADD, then IORING_OP_SPLICE with SPLICE_F_NONBLOCK, splice(2).
func Splice(from, to SpliceEnd, n int) spliceSender { return spliceSender{from: from, to: to, n: n} }

// Tee is as Splice between two pipes, but leaves the bytes in the first as well.
//
// Kernel operation: IORING_OP_POLL_ADD, then IORING_OP_TEE, tee(2).
func Tee(from, to *File, n int) spliceSender {
	return spliceSender{from: from.Stream(), to: to.Stream(), n: n, tee: true}
}

// Connect prepares op.
func (c spliceSender) Connect(op *SpliceOp, r sender.Receiver[int]) sender.Operation {
	op.what = c
	op.about(c.from.d.loop, c.from.d, c.to.d)
	op.r = r
	return op
}

// SpliceOp is the operation state of Splice and Tee.
type SpliceOp struct {
	couple[int]
	what  spliceSender
	waits waiting
	phase splicePhase
	wrong uint8 // moves in a row that found nothing to do although the polls had said so
}

// splicePhase is what the entry is about.
type splicePhase uint8

const (
	spliceWaitsForBytes splicePhase = iota
	spliceWaitsForRoom
	spliceMoves
)

// Start begins to wait. It may be called again after each completion.
func (o *SpliceOp) Start() {
	o.wrong = 0
	o.phase = o.orLater(spliceWaitsForBytes)
	o.prep()
	o.start(o, o.r.Env())
}

// orLater is phase, or what follows it at once because the place is not one to wait for.
func (o *SpliceOp) orLater(phase splicePhase) splicePhase {
	if phase == spliceWaitsForBytes && o.what.from.off != uring.FilePosition {
		phase = spliceWaitsForRoom
	}
	if phase == spliceWaitsForRoom && o.what.to.off != uring.FilePosition {
		phase = spliceMoves
	}
	return phase
}

func (o *SpliceOp) prep() {
	from, to := o.what.from, o.what.to
	n := uint32(min(o.what.n, maxTransfer))
	switch {
	case o.phase == spliceWaitsForBytes:
		o.waits.poll(&o.op, from.d, unix.POLLIN)
	case o.phase == spliceWaitsForRoom:
		o.waits.poll(&o.op, to.d, unix.POLLOUT)
	case o.what.tee:
		o.sqe.PrepTee(int(from.d.fd), int(to.d.fd), n, unix.SPLICE_F_NONBLOCK)
	default:
		o.sqe.PrepSplice(int(from.d.fd), from.off, int(to.d.fd), to.off, n, unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
	}
}

// errnoRestart is the kernel's ERESTARTSYS, which is its own affair elsewhere: what a splice at work ends with when
// it is cancelled.
const errnoRestart = 512

func (o *SpliceOp) item(res int32, _ uint32) { o.waits.item(&o.op, res) }

// place is what is waited for.
func (o *SpliceOp) place() *Descriptor {
	if o.phase == spliceWaitsForBytes {
		return o.what.from.d
	}
	return o.what.to.d
}

func (o *SpliceOp) finish() {
	if o.phase != spliceMoves && !o.waits.answered(&o.op, o.place()) {
		return
	}
	if o.res == -errnoRestart {
		o.res = -int32(syscall.EINTR)
	}
	errno := syscall.Errno(max(-o.res, 0))
	moved := o.phase == spliceMoves && o.res >= 0
	switch {
	case moved, errno != 0 && errno != syscall.EAGAIN && errno != syscall.EINTR:
	case o.over():
		o.res = -int32(syscall.ECANCELED)
	case o.phase != spliceMoves && errno == 0:
		o.next(o.phase + 1)
		return
	case errno == syscall.EINTR:
		o.next(o.phase)
		return
	case o.wrong < maxPolls:
		o.wrong++
		o.next(spliceWaitsForBytes)
		return
	}
	o.complete(int(o.res))
}

func (o *SpliceOp) next(phase splicePhase) {
	o.phase = o.orLater(phase)
	o.prep()
	o.arm()
}
