//go:build linux

package reactor

import (
	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// SpliceEnd is the source or the destination of a [Splice].
type SpliceEnd struct {
	d   *Descriptor
	off uint64
}

// stream reports whether the end is one to wait for: a file with an offset is not.
func (e SpliceEnd) stream() bool { return e.off == uring.FilePosition }

// Stream returns the end that reads or writes a pipe or a socket as a stream, or a file at its position.
func (d *Descriptor) Stream() SpliceEnd { return SpliceEnd{d, uring.FilePosition} }

// At returns the end at the offset off of a regular file, whose position stays as it is.
func (f *File) At(off int64) SpliceEnd { return SpliceEnd{&f.Descriptor, offset(off)} }

// SpliceSender moves bytes inside the kernel. See [Splice] and [Tee].
type SpliceSender struct {
	affine
	from, to SpliceEnd
	n        int
	tee      bool
}

// Splice returns a sender that moves bytes between two places of one loop, at least one of which is a pipe, without a
// copy in the program's memory, and completes with their number: at most n, and often fewer; 0 is EOF of the source.
// Bytes are never lost: they are in one place or in the other, and if any were moved before a stop the operation
// completes with how many. Urgent data of a TCP connection (see tcp(7)) is left out, and what is behind it is moved.
//
// It waits until there is something to move and until there is room, because the kernel moves the bytes on one of a few
// worker threads, which must not wait. The operation counts on both descriptors, and closing either cancels it. Streams
// must have O_NONBLOCK.
//
// It fails with EAGAIN if again and again nothing could be moved although both ends were ready.
//
// Kernel operation: IORING_OP_POLL_ADD, then IORING_OP_SPLICE with SPLICE_F_NONBLOCK, splice(2).
func Splice(from, to SpliceEnd, n int) SpliceSender { return SpliceSender{from: from, to: to, n: n} }

// Tee copies bytes from one pipe to another as [Splice] moves them: they stay in the first as well.
//
// Kernel operation: IORING_OP_POLL_ADD, then IORING_OP_TEE, tee(2).
func Tee(from, to *File, n int) SpliceSender {
	return SpliceSender{from: from.Stream(), to: to.Stream(), n: n, tee: true}
}

// Connect implements [sender.Sender].
func (c SpliceSender) Connect(op *SpliceOp, r sender.Receiver[int]) sender.Operation {
	op.what = c
	op.about(c.from.d.loop, c.from.d, c.to.d)
	op.policy, op.r = policySplice, r
	return op
}

// SpliceOp is the operation state of [Splice] and [Tee].
type SpliceOp struct {
	single[int]
	what   SpliceSender
	phase  splicePhase
	behind [1]byte // the byte behind urgent data, see passUrgent
}

// splicePhase says what the entry does. Each prep prepares the next phase, skipping polls of ends that are no streams;
// after a move that found nothing to do, although the polls had reported readiness, it is the first again.
type splicePhase uint8

const (
	spliceMoves         splicePhase = iota // moves bytes: the last phase, or none yet
	spliceWaitsForBytes                    // polls the source
	spliceWaitsForRoom                     // polls the destination
)

// Start begins to wait. It may be called again after each completion.
func (o *SpliceOp) Start() {
	env := o.env()
	o.phase = spliceMoves
	o.prep()
	o.start(o, env)
}

func (o *SpliceOp) prep() bool {
	from, to := o.what.from, o.what.to
	switch {
	case o.futile != 0 && o.phase == spliceMoves && o.passUrgent():
		return false
	case o.phase == spliceMoves && from.stream():
		o.phase = spliceWaitsForBytes
		o.poll(from.d, unix.POLLIN)
	case o.phase != spliceWaitsForRoom && to.stream():
		o.phase = spliceWaitsForRoom
		o.poll(to.d, unix.POLLOUT)
	default:
		o.phase = spliceMoves
		o.prepMove(int(from.d.fd), int(to.d.fd), uint32(min(o.what.n, maxTransfer)))
	}
	return true
}

func (o *SpliceOp) prepMove(from, to int, n uint32) {
	if o.what.tee {
		o.sqe.PrepTee(from, to, n, unix.SPLICE_F_NONBLOCK)
		return
	}
	o.sqe.PrepSplice(from, o.what.from.off, to, o.what.to.off, n, unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
}

func (o *SpliceOp) onCompletion(out outcome) {
	if out.done() && out.res == 0 && o.passUrgent() {
		return
	}
	o.complete(int(out.res), out)
}

// passUrgent moves the byte behind urgent data, if a move that found nothing stands in front of such data: splice(2)
// does not pass it, and takes it for EOF if a FIN is behind. A receive passes it, and leaves the urgent byte out. The
// byte is written to the pipe before it is received, so that it cannot get lost. The operation is ready then.
func (o *SpliceOp) passUrgent() bool {
	from, to, sys := o.what.from, o.what.to, o.loop.sys
	if !from.stream() || o.what.tee || !atUrgent(sys, from.d) {
		return false
	}
	n, _, err := sys.Recvfrom(int(from.d.fd), o.behind[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	if err != nil || n == 0 {
		return false
	}
	if _, err := sys.Write(int(to.d.fd), o.behind[:]); err != nil {
		return false
	}
	_, _, _ = sys.Recvfrom(int(from.d.fd), o.behind[:], unix.MSG_DONTWAIT)
	o.ready(outcome{res: 1, kind: outcomeDone})
	return true
}

// atUrgent reports whether the next byte to be received is urgent data.
func atUrgent(sys host.System, d *Descriptor) bool {
	at, err := sys.IoctlGetInt(int(d.fd), unix.SIOCATMARK)
	return err == nil && at != 0
}
