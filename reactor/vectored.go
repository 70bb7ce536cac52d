package reactor

import (
	"unsafe"

	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// vectored is what senders of the bytes of several pieces of memory say.
type vectored struct {
	f    *File
	bufs [][]byte
	off  int64
}

// ReadvSender reads into several pieces of memory as one. See File.ReadvAt.
type ReadvSender struct {
	affine
	vectored
}

// ReadvAt is a sender of the number of bytes read from offset off into bufs, in order: all that fit, or those until
// the end of the file. If it is stopped, or the file closed, when a part has been read, it completes with the length
// of that part. bufs and its pieces belong to the operation from Start until it completes. At most 1024 pieces.
//
// Kernel operation: IORING_OP_READV, preadv(2).
func (f *File) ReadvAt(bufs [][]byte, off int64) ReadvSender {
	return ReadvSender{vectored: vectored{f, bufs, off}}
}

// WritevSender writes several pieces of memory as one. See File.WritevAt.
type WritevSender struct {
	affine
	vectored
}

// WritevAt is a sender of the number of bytes of bufs written at offset off, which is that of all of them, in order;
// else it is as ReadvAt.
//
// Kernel operation: IORING_OP_WRITEV, pwritev(2).
func (f *File) WritevAt(bufs [][]byte, off int64) WritevSender {
	return WritevSender{vectored: vectored{f, bufs, off}}
}

// Connect prepares op.
func (c ReadvSender) Connect(op *ReadvOp, r sender.Receiver[int]) { op.connect(c.vectored, false, r) }

// Connect prepares op.
func (c WritevSender) Connect(op *WritevOp, r sender.Receiver[int]) { op.connect(c.vectored, true, r) }

// ReadvOp is the operation state of ReadvAt.
type ReadvOp struct{ vectorTransfer }

// WritevOp is the operation state of WritevAt.
type WritevOp struct{ vectorTransfer }

// Start begins to read. It may be called again after each completion.
func (o *ReadvOp) Start() { o.vectorTransfer.start() }

// Start begins to write. It may be called again after each completion.
func (o *WritevOp) Start() { o.vectorTransfer.start() }

// vectorTransfer is what they have in common.
type vectorTransfer struct {
	single[int]
	vectored
	iov   []unix.Iovec
	head  int // first of iov that has not been filled or written whole
	moved int
	left  int
	write bool
}

func (o *vectorTransfer) connect(v vectored, write bool, r sender.Receiver[int]) {
	o.vectored, o.write = v, write
	o.loop, o.on, o.r = v.f.loop, &v.f.Descriptor, r
}

func (o *vectorTransfer) start() {
	o.iov, o.head, o.moved, o.left = o.iov[:0], 0, 0, 0
	for _, b := range o.bufs {
		if len(b) == 0 {
			continue
		}
		v := unix.Iovec{Base: unsafe.SliceData(b)}
		v.SetLen(len(b))
		o.iov = append(o.iov, v)
		o.left += len(b)
	}
	o.prep()
	o.single.start(o, o.r.Env())
}

// prep fills the entry for what is left.
func (o *vectorTransfer) prep() {
	rest := o.iov[o.head:]
	p, n := unsafe.Pointer(unsafe.SliceData(rest)), uint32(len(rest))
	off := offset(o.off + int64(o.moved))
	if o.write {
		o.sqe.PrepWritev(int(o.on.fd), p, n, off, 0)
	} else {
		o.sqe.PrepReadv(int(o.on.fd), p, n, off, 0)
	}
}

func (o *vectorTransfer) finish() {
	if o.interrupted() {
		return
	}
	if o.res > 0 {
		o.advance(int(o.res))
		if o.left > 0 && !o.over() {
			o.prep()
			o.arm()
			return
		}
	}
	o.release()
	if o.res < 0 && (o.moved == 0 || !o.cancelled()) {
		o.fail()
		return
	}
	o.r.SetValue(o.moved)
}

// advance passes over n bytes that were moved.
func (o *vectorTransfer) advance(n int) {
	o.moved += n
	o.left -= n
	for n > 0 {
		v := &o.iov[o.head]
		if n < int(v.Len) {
			v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
			v.SetLen(int(v.Len) - n)
			return
		}
		n -= int(v.Len)
		o.head++
	}
}
