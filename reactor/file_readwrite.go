//go:build linux

package reactor

import (
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
)

// movement describes a read into one piece of memory, or a write of it.
type movement struct {
	f     *File
	buf   []byte
	off   uint64
	index int // of the registered buffer, or noIndex
	all   bool
}

const noIndex = -1

// offset converts an offset to that of an entry. A negative one stays invalid; -1 itself would be the file's position.
func offset(off int64) uint64 {
	if off < 0 {
		return 1 << 63
	}
	return uint64(off)
}

// ReadSender reads into the caller's memory. See [File.ReadAt] and its variants.
type ReadSender struct {
	affine
	movement
}

// ReadAt returns a sender that reads into buf from offset off and completes with the number of bytes; 0 is EOF. It may
// be fewer than there are, which [File.ReadFullAt] does not accept. buf must be on the heap or mapped, and belongs to
// the operation from Start until it completes.
//
// Kernel operation: IORING_OP_READ, pread(2).
func (f *File) ReadAt(buf []byte, off int64) ReadSender {
	return ReadSender{movement: movement{f: f, buf: buf, off: offset(off), index: noIndex}}
}

// ReadFullAt reads as [File.ReadAt] does, but completes when buf is full or at EOF. If it is stopped, or the file
// closed, when a part has been read, it completes with the length of that part (see [sender.PartialReceiver]).
func (f *File) ReadFullAt(buf []byte, off int64) ReadSender {
	return ReadSender{movement: movement{f: f, buf: buf, off: offset(off), index: noIndex, all: true}}
}

// Read works as [File.ReadAt], but reads from the file's position, which it advances, or from a stream.
//
// Kernel operation: IORING_OP_READ, read(2).
func (f *File) Read(buf []byte) ReadSender {
	return ReadSender{movement: movement{f: f, buf: buf, off: uring.FilePosition, index: noIndex}}
}

// ReadFixedAt reads as [File.ReadAt] does, into registered memory. See [Loop.NewFixedBuffers].
//
// Kernel operation: IORING_OP_READ_FIXED.
func (f *File) ReadFixedAt(buf FixedBuffer, off int64) ReadSender {
	return ReadSender{movement: movement{f: f, buf: buf.mem, off: offset(off), index: buf.index}}
}

// WriteSender writes the caller's bytes. See [File.WriteAt] and its variants.
type WriteSender struct {
	affine
	movement
}

// WriteAt returns a sender that writes buf at offset off and completes with the number of bytes. It may be fewer than
// all, which [File.WriteAllAt] does not accept. buf must be on the heap or mapped, and belongs to the operation from
// Start until it completes.
//
// Kernel operation: IORING_OP_WRITE, pwrite(2).
func (f *File) WriteAt(buf []byte, off int64) WriteSender {
	return WriteSender{movement: movement{f: f, buf: buf, off: offset(off), index: noIndex}}
}

// WriteAllAt writes as [File.WriteAt] does, but completes when all of buf has been written, or with an error. If it is
// stopped, or the file closed, when a part has been written, it completes with the length of that part (see
// [sender.PartialReceiver]).
func (f *File) WriteAllAt(buf []byte, off int64) WriteSender {
	return WriteSender{movement: movement{f: f, buf: buf, off: offset(off), index: noIndex, all: true}}
}

// Write works as [File.WriteAt], but writes at the file's position, which it advances, or to a stream. It fails with
// EPIPE on a pipe whose reading end is closed, without SIGPIPE.
//
// Kernel operation: IORING_OP_WRITE, write(2).
func (f *File) Write(buf []byte) WriteSender {
	return WriteSender{movement: movement{f: f, buf: buf, off: uring.FilePosition, index: noIndex}}
}

// WriteAll writes as [File.Write] does, but completes as [File.WriteAllAt] does.
func (f *File) WriteAll(buf []byte) WriteSender {
	return WriteSender{movement: movement{f: f, buf: buf, off: uring.FilePosition, index: noIndex, all: true}}
}

// WriteFixedAt writes as [File.WriteAt] does, from registered memory. See [Loop.NewFixedBuffers].
//
// Kernel operation: IORING_OP_WRITE_FIXED.
func (f *File) WriteFixedAt(buf FixedBuffer, off int64) WriteSender {
	return WriteSender{movement: movement{f: f, buf: buf.mem, off: offset(off), index: buf.index}}
}

// Connect implements [sender.Sender].
func (c ReadSender) Connect(op *ReadOp, r sender.Receiver[int]) sender.Operation {
	op.connect(c.movement, false, r)
	return op
}

// Connect implements [sender.Sender].
func (c WriteSender) Connect(op *WriteOp, r sender.Receiver[int]) sender.Operation {
	op.connect(c.movement, true, r)
	return op
}

// ReadOp is the operation state of [File.ReadAt], [File.ReadFullAt], [File.Read] and [File.ReadFixedAt].
type ReadOp struct{ transfer }

// WriteOp is the operation state of [File.WriteAt], [File.WriteAllAt], [File.Write], [File.WriteAll] and
// [File.WriteFixedAt].
type WriteOp struct{ transfer }

// Start begins to read. It may be called again after each completion.
func (o *ReadOp) Start() { o.startTransfer(o) }

// Start begins to write. It may be called again after each completion.
func (o *WriteOp) Start() { o.startTransfer(o) }

// transfer is the part common to reads and writes.
type transfer struct {
	single[int]
	movement
	moved int
	write bool
}

func (o *transfer) connect(m movement, write bool, r sender.Receiver[int]) {
	o.movement, o.write = m, write
	if o.policy = policyRead; write {
		o.policy = policyWrite
	}
	o.loop, o.on, o.r = m.f.loop, &m.f.Descriptor, r
}

// startTransfer publishes the operation as run.
func (o *transfer) startTransfer(run operation) {
	env := o.env()
	o.moved = 0
	o.prep()
	o.start(run, env)
}

// prep fills the entry for what is left.
func (o *transfer) prep() bool {
	fd, rest, off := int(o.on.fd), o.buf[o.moved:], o.off
	if off != uring.FilePosition {
		off += uint64(o.moved)
	}
	p, n := unsafe.Pointer(unsafe.SliceData(rest)), uint32(min(len(rest), maxTransfer))
	switch {
	case o.write && o.index != noIndex:
		o.sqe.PrepWriteFixed(fd, p, n, off, uint16(o.index))
	case o.write:
		o.sqe.PrepWrite(fd, p, n, off)
	case o.index != noIndex:
		o.sqe.PrepReadFixed(fd, p, n, off, uint16(o.index))
	default:
		o.sqe.PrepRead(fd, p, n, off)
	}
	return true
}

func (o *transfer) onCompletion(out outcome) {
	if out.done() && out.res > 0 {
		o.moved += int(out.res)
		if o.all && o.moved < len(o.buf) {
			o.proceed(o)
			return
		}
	}
	o.completePart(o.moved, out, o.moved != 0)
}
