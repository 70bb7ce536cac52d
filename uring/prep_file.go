package uring

import "unsafe"

// FilePosition is the offset that stands for the file's position, which the operation moves.
const FilePosition = ^uint64(0)

// PrepRead reads at most n bytes at offset off, or with FilePosition from there. See pread(2).
func (s *SQE) PrepRead(fd int, p unsafe.Pointer, n uint32, off uint64) {
	*s = SQE{Opcode: OpRead, Fd: int32(fd), Addr: addr(p), Len: n, Off: off}
}

// PrepWrite writes n bytes at offset off, or with FilePosition there. See
// pwrite(2).
func (s *SQE) PrepWrite(fd int, p unsafe.Pointer, n uint32, off uint64) {
	*s = SQE{Opcode: OpWrite, Fd: int32(fd), Addr: addr(p), Len: n, Off: off}
}

// PrepReadv reads into the n buffers of iov, an array of struct iovec. rwFlags: RWF_NOWAIT, …. See preadv2(2).
func (s *SQE) PrepReadv(fd int, iov unsafe.Pointer, n uint32, off uint64, rwFlags uint32) {
	*s = SQE{Opcode: OpReadv, Fd: int32(fd), Addr: addr(iov), Len: n, Off: off, OpFlags: rwFlags}
}

// PrepWritev writes the n buffers of iov, an array of struct iovec. See pwritev2(2).
func (s *SQE) PrepWritev(fd int, iov unsafe.Pointer, n uint32, off uint64, rwFlags uint32) {
	*s = SQE{Opcode: OpWritev, Fd: int32(fd), Addr: addr(iov), Len: n, Off: off, OpFlags: rwFlags}
}

// PrepReadFixed is PrepRead into memory that lies in the registered buffer index.
func (s *SQE) PrepReadFixed(fd int, p unsafe.Pointer, n uint32, off uint64, index uint16) {
	*s = SQE{Opcode: OpReadFixed, Fd: int32(fd), Addr: addr(p), Len: n, Off: off, BufIndex: index}
}

// PrepWriteFixed is PrepWrite of memory that lies in the registered buffer index.
func (s *SQE) PrepWriteFixed(fd int, p unsafe.Pointer, n uint32, off uint64, index uint16) {
	*s = SQE{Opcode: OpWriteFixed, Fd: int32(fd), Addr: addr(p), Len: n, Off: off, BufIndex: index}
}

// PrepReadMultishot reads what comes, of a pipe or the like, into buffers of the group, one completion each.
// See io_uring_prep_read_multishot(3).
func (s *SQE) PrepReadMultishot(fd int, group uint16) {
	*s = SQE{Opcode: OpReadMultishot, Flags: SQEBufferSelect, Fd: int32(fd), Off: FilePosition, BufIndex: group}
}

// FsyncDatasync makes PrepFsync flush no more than is needed to read the data back: fdatasync(2).
const FsyncDatasync uint32 = 1

// PrepFsync flushes fd to its storage. See fsync(2).
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

// PrepFadvise tells how n bytes of fd at offset off will be used. See posix_fadvise(2).
func (s *SQE) PrepFadvise(fd int, off uint64, n uint32, advice int) {
	*s = SQE{Opcode: OpFadvise, Fd: int32(fd), Off: off, Len: n, OpFlags: uint32(advice)}
}

// PrepSplice moves at most n bytes from one descriptor to another, of which one is a pipe. An offset of
// FilePosition is that of a pipe, or the file's position. See splice(2).
func (s *SQE) PrepSplice(from int, fromOff uint64, to int, toOff uint64, n, flags uint32) {
	*s = SQE{Opcode: OpSplice, Fd: int32(to), Off: toOff, Addr: fromOff, Len: n, OpFlags: flags, FileIndex: int32(from)}
}

// PrepTee copies at most n bytes from one pipe to another, leaving them in the first. See tee(2).
func (s *SQE) PrepTee(from, to int, n, flags uint32) {
	*s = SQE{Opcode: OpTee, Fd: int32(to), Len: n, OpFlags: flags, FileIndex: int32(from)}
}

// PrepPipe makes a pipe, whose descriptors it stores in the two int32 at fds. See pipe2(2).
func (s *SQE) PrepPipe(fds unsafe.Pointer, flags uint32) {
	*s = SQE{Opcode: OpPipe, Addr: addr(fds), OpFlags: flags}
}

// PrepSyncFileRange flushes n bytes of fd at offset off, as the flags (unix.SYNC_FILE_RANGE_WRITE, …) say. See
// sync_file_range(2).
func (s *SQE) PrepSyncFileRange(fd int, off uint64, n, flags uint32) {
	*s = SQE{Opcode: OpSyncFileRange, Fd: int32(fd), Off: off, Len: n, OpFlags: flags}
}
