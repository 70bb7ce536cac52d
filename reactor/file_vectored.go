//go:build linux

package reactor

import (
	"unsafe"

	"github.com/reactord/reactord/sender"
)

// vectored describes a read into several pieces of memory, or a write of them.
type vectored struct {
	f    *File
	bufs [][]byte
	off  int64
}

// ReadvSender reads into several pieces of memory as one. See [File.ReadvAt].
type ReadvSender struct {
	affine
	vectored
}

// ReadvAt returns a sender that reads from offset off into bufs, in order, and completes with the number of bytes: all
// that fit, or those until the end of the file. If it is stopped, or the file closed, when a part has been read, it
// completes with the length of that part. The slice bufs is read by Connect and not kept; its pieces must be on the
// heap or mapped, and belong to the operation from Start until it completes. At most 1024 pieces.
//
// Kernel operation: IORING_OP_READV, preadv(2).
func (f *File) ReadvAt(bufs [][]byte, off int64) ReadvSender {
	return ReadvSender{vectored: vectored{f, bufs, off}}
}

// WritevSender writes several pieces of memory as one. See [File.WritevAt].
type WritevSender struct {
	affine
	vectored
}

// WritevAt returns a sender that writes all of bufs at offset off, in order, and completes with the number of bytes;
// else it works as [File.ReadvAt].
//
// Kernel operation: IORING_OP_WRITEV, pwritev(2).
func (f *File) WritevAt(bufs [][]byte, off int64) WritevSender {
	return WritevSender{vectored: vectored{f, bufs, off}}
}

// Connect implements [sender.Sender].
func (c ReadvSender) Connect(op *ReadvOp, r sender.Receiver[int]) sender.Operation {
	op.connect(c.vectored, false, r)
	return op
}

// Connect implements [sender.Sender].
func (c WritevSender) Connect(op *WritevOp, r sender.Receiver[int]) sender.Operation {
	op.connect(c.vectored, true, r)
	return op
}

// ReadvOp is the operation state of [File.ReadvAt].
type ReadvOp struct{ vectorTransfer }

// WritevOp is the operation state of [File.WritevAt].
type WritevOp struct{ vectorTransfer }

// Start begins to read. It may be called again after each completion.
func (o *ReadvOp) Start() { o.startTransfer(o) }

// Start begins to write. It may be called again after each completion.
func (o *WritevOp) Start() { o.startTransfer(o) }

// vectorTransfer is the part common to both.
type vectorTransfer struct {
	single[int]
	mem   pieces
	off   int64
	write bool
}

func (o *vectorTransfer) connect(v vectored, write bool, r sender.Receiver[int]) {
	o.mem.set(v.bufs)
	o.off, o.write = v.off, write
	o.policy, o.loop, o.on, o.r = policyFile, v.f.loop, &v.f.Descriptor, r
}

// startTransfer publishes the operation as run.
func (o *vectorTransfer) startTransfer(run operation) {
	env := o.env()
	o.mem.rewind()
	o.prep()
	o.start(run, env)
}

// prep fills the entry for what is left.
func (o *vectorTransfer) prep() bool {
	rest := o.mem.rest()
	p, n := unsafe.Pointer(unsafe.SliceData(rest)), uint32(len(rest))
	off := offset(o.off + int64(o.mem.moved))
	if o.write {
		o.sqe.PrepWritev(int(o.on.fd), p, n, off)
	} else {
		o.sqe.PrepReadv(int(o.on.fd), p, n, off)
	}
	return true
}

func (o *vectorTransfer) onCompletion(out outcome) {
	if out.done() && out.res > 0 {
		o.mem.advance(int(out.res))
		if o.mem.left() > 0 {
			o.proceed(o)
			return
		}
	}
	o.completePart(o.mem.moved, out, o.mem.moved != 0)
}
