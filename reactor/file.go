package reactor

import (
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
)

// File is an open file, directory, pipe end or terminal that belongs to a loop. It is embedded in what it belongs
// to, is not copied, and all its methods are called on the loop's thread. See Dir.OpenFile, Pipe.Open and Init.
//
// What has an offset leaves the file's position alone and suits regular files; what has none is about the position,
// or about a stream. A stream that is given to Init has O_NONBLOCK, as pipes have it by Pipe.Open.
//
// Its errors are syscall.Errno, or match fs.ErrClosed if the file was closed under the operation. Storage is not
// to be hurried: an operation on a regular file that the kernel has begun is seldom cut short by a stop, and
// completes with its result.
type File struct{ Descriptor }

// fileSender is a sender of nothing about a file. See File.Sync, File.DataSync, File.Allocate.
type fileSender struct {
	f    *File
	op   uring.Op
	mode uint32
	off  int64
	n    int64
}

// syncSender flushes a file. See File.Sync and File.DataSync.
type syncSender struct {
	affine
	fileSender
}

// Sync is a sender that completes when what was written to the file before, and what is known of it, is on its
// storage.
//
// Kernel operation: IORING_OP_FSYNC, fsync(2).
func (f *File) Sync() syncSender {
	return syncSender{fileSender: fileSender{f: f, op: uring.OpFsync}}
}

// DataSync is as Sync, but of what is known of the file it flushes only what is needed to read the data back.
//
// Kernel operation: IORING_OP_FSYNC with IORING_FSYNC_DATASYNC, fdatasync(2).
func (f *File) DataSync() syncSender {
	return syncSender{fileSender: fileSender{f: f, op: uring.OpFsync, mode: uring.FsyncDatasync}}
}

// allocateSender reserves room for a file. See File.Allocate.
type allocateSender struct {
	affine
	fileSender
}

// Allocate is a sender that reserves storage for n bytes of the file at offset off, so that writing them does not
// fail for want of it. mode is 0, which lets the file grow, or of the FALLOC_FL_ constants of package unix.
//
// Kernel operation: IORING_OP_FALLOCATE, fallocate(2).
func (f *File) Allocate(mode uint32, off, n int64) allocateSender {
	return allocateSender{fileSender: fileSender{f: f, op: uring.OpFallocate, mode: mode, off: off, n: n}}
}

// Connect prepares op.
func (c fileSender) Connect(op *FileOp, r sender.Receiver[struct{}]) sender.Operation {
	if c.op == uring.OpFsync {
		op.sqe.PrepFsync(int(c.f.fd), c.mode)
	} else {
		op.sqe.PrepFallocate(int(c.f.fd), c.mode, uint64(c.off), uint64(c.n))
	}
	op.loop, op.on, op.r = c.f.loop, &c.f.Descriptor, r
	return op
}

// FileOp is the operation state of Sync, DataSync and Allocate.
type FileOp struct{ single[struct{}] }

// Start begins. It may be called again after each completion.
func (o *FileOp) Start() { o.start(o, o.r.Env()) }

func (o *FileOp) finish() {
	if o.interrupted() {
		return
	}
	o.complete(struct{}{})
}

// truncateSender sets the length of a file. See File.Truncate.
type truncateSender struct {
	affine
	f *File
	n int64
}

// Truncate is a sender that makes the file n bytes long; what it grows by reads as zeros.
//
// Kernel operation: IORING_OP_FTRUNCATE (Linux 6.9), else ftruncate(2) as Offload does it.
func (f *File) Truncate(n int64) truncateSender { return truncateSender{f: f, n: n} }

// Connect prepares op.
func (c truncateSender) Connect(op *TruncateOp, r sender.Receiver[struct{}]) sender.Operation {
	op.n = c.n
	op.loop, op.on, op.r = c.f.loop, &c.f.Descriptor, r
	if op.elsewhere = !op.loop.ops.Has(uring.OpFtruncate); op.elsewhere {
		if op.errand.do == nil {
			op.errand.do = op.call
		}
		op.errand.connect(&op.op)
	} else {
		op.sqe.PrepFtruncate(int(c.f.fd), uint64(c.n))
	}
	return op
}

// TruncateOp is the operation state of Truncate.
type TruncateOp struct {
	single[struct{}]
	errand    errand
	n         int64
	fd        int
	err       error
	elsewhere bool // the ring has no opcode for it
}

// Start begins. It may be called again after each completion.
func (o *TruncateOp) Start() {
	if o.elsewhere {
		o.fd = int(o.on.fd)
		o.errand.start(o, o.r.Env())
	} else {
		o.start(o, o.r.Env())
	}
}

// call runs on another thread. The file stays open meanwhile, because the operation is in flight on it.
func (o *TruncateOp) call() { o.err = o.loop.sys.Ftruncate(o.fd, o.n) }

func (o *TruncateOp) finish() {
	switch {
	case o.elsewhere:
		if o.res == 0 {
			o.res = resultOf(o.err)
		}
		o.errand.release()
	case o.interrupted():
		return
	default:
		o.release()
	}
	if o.res < 0 {
		o.fail()
		return
	}
	o.r.SetValue(struct{}{})
}

// DirectAlign is what AlignedBuffer aligns to: enough for O_DIRECT on any storage known. FileStat.DirectMemory
// and DirectOffset tell what a file needs.
const DirectAlign = 4096

// AlignedBuffer is n zero bytes of memory whose address is a multiple of DirectAlign, as files that were opened
// with O_DIRECT want it; offsets and lengths have to be multiples as well. See open(2).
func AlignedBuffer(n int) []byte {
	mem := make([]byte, n+DirectAlign-1)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(mem))) & (DirectAlign - 1))
	return mem[skip : skip+n : skip+n]
}
