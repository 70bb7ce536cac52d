//go:build linux

package uring

import "unsafe"

// FilePosition is the offset that stands for the file's position, which the operation then moves.
const FilePosition = ^uint64(0)

// PrepRead reads at most n bytes at offset off, or at the file's position if off is [FilePosition]. See pread(2).
func (s *SQE) PrepRead(fd int, p unsafe.Pointer, n uint32, off uint64) {
	*s = SQE{Opcode: OpRead, Fd: int32(fd), Addr: addr(p), Len: n, Off: off}
}

// PrepWrite writes n bytes at offset off, or at the file's position if off is [FilePosition]. See pwrite(2).
func (s *SQE) PrepWrite(fd int, p unsafe.Pointer, n uint32, off uint64) {
	*s = SQE{Opcode: OpWrite, Fd: int32(fd), Addr: addr(p), Len: n, Off: off}
}

// PrepReadv reads as [SQE.PrepRead] does, into the n buffers of iov, an array of struct iovec. See preadv(2).
func (s *SQE) PrepReadv(fd int, iov unsafe.Pointer, n uint32, off uint64) {
	*s = SQE{Opcode: OpReadv, Fd: int32(fd), Addr: addr(iov), Len: n, Off: off}
}

// PrepWritev writes as [SQE.PrepWrite] does, from the n buffers of iov, an array of struct iovec. See pwritev(2).
func (s *SQE) PrepWritev(fd int, iov unsafe.Pointer, n uint32, off uint64) {
	*s = SQE{Opcode: OpWritev, Fd: int32(fd), Addr: addr(iov), Len: n, Off: off}
}

// PrepReadFixed reads as [SQE.PrepRead] does, into memory that lies in the registered buffer index. See
// [Ring.RegisterFixedBuffers].
func (s *SQE) PrepReadFixed(fd int, p unsafe.Pointer, n uint32, off uint64, index uint16) {
	*s = SQE{Opcode: OpReadFixed, Fd: int32(fd), Addr: addr(p), Len: n, Off: off, BufIndex: index}
}

// PrepWriteFixed writes as [SQE.PrepWrite] does, from memory that lies in the registered buffer index. See
// [Ring.RegisterFixedBuffers].
func (s *SQE) PrepWriteFixed(fd int, p unsafe.Pointer, n uint32, off uint64, index uint16) {
	*s = SQE{Opcode: OpWriteFixed, Fd: int32(fd), Addr: addr(p), Len: n, Off: off, BufIndex: index}
}

// PrepReadMultishot reads from a pipe or the like into provided buffers of the group, one completion each, until EOF,
// an error, -ENOBUFS or a cancel. See io_uring_prep_read_multishot(3).
func (s *SQE) PrepReadMultishot(fd int, group uint16) {
	*s = SQE{Opcode: OpReadMultishot, Flags: SQEBufferSelect, Fd: int32(fd), Off: FilePosition, BufIndex: group}
}

// FsyncDatasync makes [SQE.PrepFsync] flush no more than is needed to read the data again: fdatasync(2).
const FsyncDatasync uint32 = 1

// PrepFsync flushes fd to its storage. flags is 0 or [FsyncDatasync]. See fsync(2).
func (s *SQE) PrepFsync(fd int, flags uint32) {
	*s = SQE{Opcode: OpFsync, Fd: int32(fd), OpFlags: flags}
}

// PrepFallocate reserves or frees n bytes of fd at offset off. See fallocate(2).
func (s *SQE) PrepFallocate(fd int, mode uint32, off, n uint64) {
	*s = SQE{Opcode: OpFallocate, Fd: int32(fd), Len: mode, Off: off, Addr: n}
}

// PrepFtruncate makes the file n bytes long. See ftruncate(2).
func (s *SQE) PrepFtruncate(fd int, n uint64) {
	*s = SQE{Opcode: OpFtruncate, Fd: int32(fd), Off: n}
}

// PrepSplice moves at most n bytes from one descriptor to another, of which one is a pipe. The offset of a pipe is
// [FilePosition], which for a file stands for its position. See splice(2).
func (s *SQE) PrepSplice(from int, fromOff uint64, to int, toOff uint64, n, flags uint32) {
	*s = SQE{
		Opcode: OpSplice, Fd: int32(to), Off: toOff, Addr: fromOff, Len: n, OpFlags: flags, FileIndex: int32(from),
	}
}

// PrepTee copies at most n bytes from one pipe to another and leaves them in the first. See tee(2).
func (s *SQE) PrepTee(from, to int, n, flags uint32) {
	*s = SQE{Opcode: OpTee, Fd: int32(to), Len: n, OpFlags: flags, FileIndex: int32(from)}
}
