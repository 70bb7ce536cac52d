//go:build linux

package reactor

import (
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
)

// File is an open file, directory, pipe end or terminal that belongs to a loop. It is embedded in what it belongs to,
// is not copied, and all its methods are called on the loop's thread. See [Dir.OpenFile], [Pipe.Open] and
// [Descriptor.Init].
//
// Operations with an offset do not change the file's position and are for regular files; those without one use the
// position, or are for streams. A stream that is given to Init has O_NONBLOCK, as pipes have it by [Pipe.Open].
//
// The errors of operations are syscall.Errno, or match fs.ErrClosed if the file was closed under the operation. An
// operation on a regular file that the kernel has begun is seldom interrupted by a stop, and completes with its result.
type File struct{ Descriptor }

// FileSender changes or flushes a file and completes without a value. See [File.Sync], [File.DataSync] and
// [File.Allocate].
type FileSender struct {
	affine
	f    *File
	op   uring.Op
	mode uint32 // OpFsync: 0 or uring.FsyncDatasync; OpFallocate: the mode of fallocate(2)
	off  int64  // OpFallocate: where the range begins
	n    int64  // OpFallocate: its length
}

// Sync returns a sender that completes when what was written to the file before, and its metadata, is on its storage.
//
// Kernel operation: IORING_OP_FSYNC, fsync(2).
func (f *File) Sync() FileSender { return FileSender{f: f, op: uring.OpFsync} }

// DataSync works as [File.Sync], but flushes only the metadata needed to read the data back.
//
// Kernel operation: IORING_OP_FSYNC with IORING_FSYNC_DATASYNC, fdatasync(2).
func (f *File) DataSync() FileSender {
	return FileSender{f: f, op: uring.OpFsync, mode: uring.FsyncDatasync}
}

// Allocate returns a sender that reserves storage for n bytes of the file at offset off, so that a write of them cannot
// fail for lack of it. mode is 0, which lets the file grow, or one of the FALLOC_FL_ constants of package unix.
//
// Kernel operation: IORING_OP_FALLOCATE, fallocate(2).
func (f *File) Allocate(mode uint32, off, n int64) FileSender {
	return FileSender{f: f, op: uring.OpFallocate, mode: mode, off: off, n: n}
}

// Connect implements [sender.Sender].
func (c FileSender) Connect(op *FileOp, r sender.Receiver[struct{}]) sender.Operation {
	if c.op == uring.OpFsync {
		op.sqe.PrepFsync(int(c.f.fd), c.mode)
	} else {
		op.sqe.PrepFallocate(int(c.f.fd), c.mode, uint64(c.off), uint64(c.n))
	}
	op.policy, op.loop, op.on, op.r = policyFile, c.f.loop, &c.f.Descriptor, r
	return op
}

// FileOp is the operation state of [File.Sync], [File.DataSync] and [File.Allocate].
type FileOp struct{ single[struct{}] }

// Start begins. It may be called again after each completion.
func (o *FileOp) Start() { o.start(o, o.env()) }

func (o *FileOp) onCompletion(out outcome) { o.complete(struct{}{}, out) }

// TruncateSender sets the length of a file. See [File.Truncate].
type TruncateSender struct {
	affine
	f *File
	n int64
}

// Truncate returns a sender that makes the file n bytes long; what it grows by reads as zeros.
//
// Kernel operation: IORING_OP_FTRUNCATE (Linux 6.9), else ftruncate(2) as [Offload] does it.
func (f *File) Truncate(n int64) TruncateSender { return TruncateSender{f: f, n: n} }

// Connect implements [sender.Sender].
func (c TruncateSender) Connect(op *TruncateOp, r sender.Receiver[struct{}]) sender.Operation {
	op.n = c.n
	op.policy, op.loop, op.on, op.r = policyFile, c.f.loop, &c.f.Descriptor, r
	if op.offload = !op.loop.ops.Has(uring.OpFtruncate); op.offload {
		if op.job.do == nil {
			op.job.do = op.call
		}
		op.job.connect(&op.op)
	} else {
		op.sqe.PrepFtruncate(int(c.f.fd), uint64(c.n))
	}
	return op
}

// TruncateOp is the operation state of [File.Truncate].
type TruncateOp struct {
	single[struct{}]
	job     job
	n       int64
	fd      int
	err     error
	offload bool // the ring does not have the opcode
}

// Start begins. It may be called again after each completion.
func (o *TruncateOp) Start() {
	env := o.env()
	if o.offload {
		o.fd = int(o.on.fd)
		o.job.start(o, env)
	} else {
		o.start(o, env)
	}
}

// call runs on a worker thread. The file stays open meanwhile, because the operation is in flight on it.
func (o *TruncateOp) call() { o.err = o.loop.sys.Ftruncate(o.fd, o.n) }

func (o *TruncateOp) onCompletion(out outcome) {
	if o.offload {
		o.job.end()
		if out.done() {
			out = o.outcomeOfJob(o.err)
		}
	}
	o.complete(struct{}{}, out)
}

// DirectAlign is the alignment of [AlignedBuffer]: enough for O_DIRECT on any known storage. FileStat.DirectMemory and
// FileStat.DirectOffset tell what a file needs.
const DirectAlign = 4096

// AlignedBuffer returns n zero bytes of memory whose address is a multiple of [DirectAlign], as files opened with
// O_DIRECT need it; offsets and lengths have to be multiples as well. See open(2).
func AlignedBuffer(n int) []byte {
	mem := make([]byte, n+DirectAlign-1)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(mem))) & (DirectAlign - 1))
	return mem[skip : skip+n : skip+n]
}
