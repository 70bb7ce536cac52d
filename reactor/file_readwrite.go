package reactor

import (
	"syscall"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// movement is what senders of the bytes of one piece of memory say.
type movement struct {
	f     *File
	buf   []byte
	off   uint64
	index int // of the registered buffer; noIndex: none
	all   bool
}

const noIndex = -1

// offset is how an entry has an offset. A negative one stays none; but -1 as it is would be the file's position.
func offset(off int64) uint64 {
	if off < 0 {
		return 1 << 63
	}
	return uint64(off)
}

// readSender reads into the caller's memory. See File.ReadAt and what follows it.
type readSender struct {
	affine
	movement
}

// ReadAt is a sender of the number of bytes read into buf from offset off; 0 is the end of the file. It may be
// fewer than there are: ReadFullAt goes on. buf must be on the heap or mapped, and belongs to the operation from
// Start until it completes.
//
// Kernel operation: IORING_OP_READ, pread(2).
func (f *File) ReadAt(buf []byte, off int64) readSender {
	return readSender{movement: movement{f: f, buf: buf, off: offset(off), index: noIndex}}
}

// ReadFullAt is as ReadAt, but completes when buf is full or the file is at its end. If it is stopped, or the file
// closed, when a part has been read, it completes with the length of that part.
func (f *File) ReadFullAt(buf []byte, off int64) readSender {
	return readSender{movement: movement{f: f, buf: buf, off: offset(off), index: noIndex, all: true}}
}

// Read is a sender of the number of bytes read into buf from the file's position, which moves on, or from a stream;
// 0 is the end. See ReadAt for the rest.
//
// Kernel operation: IORING_OP_READ, read(2).
func (f *File) Read(buf []byte) readSender {
	return readSender{movement: movement{f: f, buf: buf, off: uring.FilePosition, index: noIndex}}
}

// ReadFixedAt is as ReadAt into registered memory. See Loop.NewFixedBuffers.
//
// Kernel operation: IORING_OP_READ_FIXED.
func (f *File) ReadFixedAt(buf FixedBuffer, off int64) readSender {
	return readSender{movement: movement{f: f, buf: buf.mem, off: offset(off), index: buf.index}}
}

// writeSender writes the caller's bytes. See File.WriteAt and what follows it.
type writeSender struct {
	affine
	movement
}

// WriteAt is a sender of the number of bytes of buf written at offset off, which may be fewer than all: WriteAllAt
// goes on. buf must be on the heap or mapped, and belongs to the operation from Start until it completes.
//
// Kernel operation: IORING_OP_WRITE, pwrite(2).
func (f *File) WriteAt(buf []byte, off int64) writeSender {
	return writeSender{movement: movement{f: f, buf: buf, off: offset(off), index: noIndex}}
}

// WriteAllAt is as WriteAt, but completes when all of buf has been written, or with an error. If it is stopped, or
// the file closed, when a part has been written, it completes with the length of that part.
func (f *File) WriteAllAt(buf []byte, off int64) writeSender {
	return writeSender{movement: movement{f: f, buf: buf, off: offset(off), index: noIndex, all: true}}
}

// Write is a sender of the number of bytes of buf written at the file's position, which moves on, or to a stream.
// A pipe nobody reads from is EPIPE; there is no SIGPIPE. See WriteAt for the rest.
//
// Kernel operation: IORING_OP_WRITE, write(2).
func (f *File) Write(buf []byte) writeSender {
	return writeSender{movement: movement{f: f, buf: buf, off: uring.FilePosition, index: noIndex}}
}

// WriteAll is to Write what WriteAllAt is to WriteAt.
func (f *File) WriteAll(buf []byte) writeSender {
	return writeSender{movement: movement{f: f, buf: buf, off: uring.FilePosition, index: noIndex, all: true}}
}

// WriteFixedAt is as WriteAt of registered memory. See Loop.NewFixedBuffers.
//
// Kernel operation: IORING_OP_WRITE_FIXED.
func (f *File) WriteFixedAt(buf FixedBuffer, off int64) writeSender {
	return writeSender{movement: movement{f: f, buf: buf.mem, off: offset(off), index: buf.index}}
}

// Connect prepares op.
func (c readSender) Connect(op *ReadOp, r sender.Receiver[int]) sender.Operation {
	op.connect(c.movement, false, r)
	return op
}

// Connect prepares op.
func (c writeSender) Connect(op *WriteOp, r sender.Receiver[int]) sender.Operation {
	op.connect(c.movement, true, r)
	return op
}

// ReadOp is the operation state of ReadAt, ReadFullAt, Read and ReadFixedAt.
type ReadOp struct{ transfer }

// WriteOp is the operation state of WriteAt, WriteAllAt, Write, WriteAll and WriteFixedAt.
type WriteOp struct{ transfer }

// Start begins to read. It may be called again after each completion.
func (o *ReadOp) Start() { o.transfer.start() }

// Start begins to write. It may be called again after each completion.
func (o *WriteOp) Start() { o.transfer.start() }

// transfer is what reads and writes have in common.
type transfer struct {
	single[int]
	movement
	moved     int
	write     bool
	readiness readiness
}

func (o *transfer) connect(m movement, write bool, r sender.Receiver[int]) {
	o.movement, o.write = m, write
	o.loop, o.on, o.r = m.f.loop, &m.f.Descriptor, r
}

func (o *transfer) start() {
	o.moved, o.readiness = 0, readiness{}
	o.prep()
	o.single.start(o, o.r.Env())
}

// prep fills the entry for what is left.
func (o *transfer) prep() {
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
}

func (o *transfer) item(res int32, _ uint32) { o.readiness.item(&o.op, res) }

func (o *transfer) finish() {
	if !o.readiness.polls() && o.res > 0 {
		o.moved += int(o.res)
		o.readiness.misses = 0
		if o.all && o.moved < len(o.buf) && !o.over() {
			o.prep()
			o.arm()
			return
		}
	} else {
		events := uint32(unix.POLLIN)
		if o.write {
			events = unix.POLLOUT
		}
		switch o.readiness.next(&o.op, events) {
		case stepAgain:
			o.prep()
			o.arm()
			return
		case stepWait:
			return
		}
	}
	o.completePart(o.moved, o.moved != 0)
}

// readiness is how an operation goes on that the kernel has given up with EAGAIN or EINTR: it polls, and then tries
// again.
type readiness struct {
	waiting
	misses uint8 // polls in a row that said what was not so
}

// maxPolls is how many polls in a row may be wrong before EAGAIN is an error.
const maxPolls = 32

type nextStep uint8

const (
	stepEnd   nextStep = iota // there is a result
	stepAgain                 // the entry is to be prepared and armed
	stepWait                  // the poll is armed
)

// next makes sense of a result that is not one of bytes.
func (w *readiness) next(o *op, events uint32) nextStep {
	polled := w.polls()
	if polled && !w.answered(o, o.on) {
		return stepWait
	}
	errno := syscall.Errno(max(-o.res, 0))
	switch {
	case !polled && errno != syscall.EAGAIN && errno != syscall.EINTR:
		return stepEnd
	case o.over():
		if o.res >= 0 || errno == syscall.EAGAIN {
			o.res = -int32(syscall.ECANCELED)
		}
		return stepEnd
	case polled && errno != 0:
		return stepEnd
	case polled, errno == syscall.EINTR:
		return stepAgain
	case w.misses == maxPolls:
		return stepEnd
	}
	w.misses++
	w.poll(o, o.on, events)
	o.arm()
	return stepWait
}
