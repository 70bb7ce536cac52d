package uring

import "unsafe"

// The encoders below mirror liburing's io_uring_prep_*(3). Each overwrites the entry whole, and sets
// no user_data. Pointers are stored as addresses: see the package comment on memory.

func addr(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }

// PrepNop asks for nothing: it completes with 0.
func (s *SQE) PrepNop() { *s = SQE{Opcode: OpNop, Fd: -1} }

// PrepAccept accepts one connection on fd. sockFlags are SOCK_NONBLOCK and SOCK_CLOEXEC. The result
// is the new descriptor. See accept4(2).
func (s *SQE) PrepAccept(fd int, sockFlags uint32) {
	*s = SQE{Opcode: OpAccept, Fd: int32(fd), OpFlags: sockFlags}
}

// PrepAcceptMultishot accepts connections until it is cancelled or fails: one completion each.
func (s *SQE) PrepAcceptMultishot(fd int, sockFlags uint32) {
	s.PrepAccept(fd, sockFlags)
	s.Ioprio = AcceptMultishot
}

// PrepConnect connects fd to the address at sa, a raw sockaddr of n bytes. The result is 0. See
// connect(2).
func (s *SQE) PrepConnect(fd int, sa unsafe.Pointer, n uint32) {
	*s = SQE{Opcode: OpConnect, Fd: int32(fd), Addr: addr(sa), Off: uint64(n)}
}

// PrepRecv receives at most n bytes to p. The result is the count; 0 is the peer's end. See recv(2).
func (s *SQE) PrepRecv(fd int, p unsafe.Pointer, n uint32, msgFlags int) {
	*s = SQE{Opcode: OpRecv, Fd: int32(fd), Addr: addr(p), Len: n, OpFlags: uint32(msgFlags)}
}

// PrepRecvSelect receives into a buffer of the group, which the completion names. With n of 0 it
// takes as much as the buffer holds.
func (s *SQE) PrepRecvSelect(fd int, group uint16, n uint32, msgFlags int) {
	*s = SQE{Opcode: OpRecv, Flags: SQEBufferSelect, Fd: int32(fd), Len: n, OpFlags: uint32(msgFlags), BufIndex: group}
}

// PrepRecvMultishot receives into buffers of the group, one completion each, until the peer's end, an
// error, -ENOBUFS or a cancel.
func (s *SQE) PrepRecvMultishot(fd int, group uint16, msgFlags int) {
	s.PrepRecvSelect(fd, group, 0, msgFlags)
	s.Ioprio = RecvMultishot
}

// LimitRecv makes a multishot receive end with the completion that brings its total to n bytes or more.
// 0: no limit. Where Caps.RecvLimit is false, the entry is refused with -EINVAL.
func (s *SQE) LimitRecv(n uint32) { s.FileIndex = int32(n) }

// PrepSend sends n bytes at p. The result is the count. See send(2).
func (s *SQE) PrepSend(fd int, p unsafe.Pointer, n uint32, msgFlags int) {
	*s = SQE{Opcode: OpSend, Fd: int32(fd), Addr: addr(p), Len: n, OpFlags: uint32(msgFlags)}
}

// PrepSendmsg sends what msg, a struct msghdr, describes. See sendmsg(2).
func (s *SQE) PrepSendmsg(fd int, msg unsafe.Pointer, msgFlags int) {
	*s = SQE{Opcode: OpSendmsg, Fd: int32(fd), Addr: addr(msg), Len: 1, OpFlags: uint32(msgFlags)}
}

// PrepRecvmsg receives into what msg, a struct msghdr, describes. See recvmsg(2).
func (s *SQE) PrepRecvmsg(fd int, msg unsafe.Pointer, msgFlags int) {
	*s = SQE{Opcode: OpRecvmsg, Fd: int32(fd), Addr: addr(msg), Len: 1, OpFlags: uint32(msgFlags)}
}

// PrepShutdown shuts fd down as shutdown(2) does. The kernel always sends it to a worker thread:
// where no other entry has to be ordered with it, call shutdown(2) directly.
func (s *SQE) PrepShutdown(fd, how int) {
	*s = SQE{Opcode: OpShutdown, Fd: int32(fd), Len: uint32(how)}
}

// PrepClose closes fd. Entries in flight on it are not completed by that: cancel them first.
func (s *SQE) PrepClose(fd int) { *s = SQE{Opcode: OpClose, Fd: int32(fd)} }

// PrepPollAdd waits until one of the events (unix.POLLIN, …) holds on fd. The result is the events
// that hold. See poll(2).
func (s *SQE) PrepPollAdd(fd int, events uint32) {
	*s = SQE{Opcode: OpPollAdd, Fd: int32(fd), OpFlags: events}
}

// PrepPollMultishot reports events on fd until it is cancelled.
func (s *SQE) PrepPollMultishot(fd int, events uint32) {
	s.PrepPollAdd(fd, events)
	s.Len = PollAddMulti
}

// PrepCancel cancels the entry, or with CancelAll every entry, whose user_data is target. The result
// is 0 (with CancelAll the count), -ENOENT if there was none, or -EALREADY if it is past stopping and
// completes by itself. See io_uring_prep_cancel(3).
func (s *SQE) PrepCancel(target uint64, flags uint32) {
	*s = SQE{Opcode: OpAsyncCancel, Fd: -1, Addr: target, OpFlags: flags}
}

// PrepCancelFd cancels the first entry in flight on fd, or with CancelAll all of them.
func (s *SQE) PrepCancelFd(fd int, flags uint32) {
	*s = SQE{Opcode: OpAsyncCancel, Fd: int32(fd), OpFlags: flags | CancelFd}
}

// PrepCancelAny cancels everything in flight on the ring, itself excepted. The result is the count; a
// Ring counts its wait for Wake, which it begins anew, as one.
func (s *SQE) PrepCancelAny() {
	*s = SQE{Opcode: OpAsyncCancel, Fd: -1, OpFlags: CancelAny | CancelAll}
}

// PrepRead reads at most n bytes at offset off, or with an off of ^uint64(0) from the file's
// position. See pread(2).
func (s *SQE) PrepRead(fd int, p unsafe.Pointer, n uint32, off uint64) {
	*s = SQE{Opcode: OpRead, Fd: int32(fd), Addr: addr(p), Len: n, Off: off}
}

// PrepWrite writes n bytes at offset off, or with an off of ^uint64(0) at the file's position. See
// pwrite(2).
func (s *SQE) PrepWrite(fd int, p unsafe.Pointer, n uint32, off uint64) {
	*s = SQE{Opcode: OpWrite, Fd: int32(fd), Addr: addr(p), Len: n, Off: off}
}

// PrepFsync flushes fd to its storage. See fsync(2).
func (s *SQE) PrepFsync(fd int) { *s = SQE{Opcode: OpFsync, Fd: int32(fd)} }
