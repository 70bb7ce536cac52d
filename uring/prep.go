//go:build linux

package uring

import "unsafe"

// The encoders mirror liburing's io_uring_prep_*(3). Each overwrites the entry whole, which also clears its user_data.
// Pointers are stored as addresses: see the section on memory in the package documentation.

func addr(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }

// PrepNop does nothing: it completes with 0.
func (s *SQE) PrepNop() { *s = SQE{Opcode: OpNop, Fd: -1} }

// PrepClose closes fd. That does not complete the entries in flight on it: cancel these first.
func (s *SQE) PrepClose(fd int) { *s = SQE{Opcode: OpClose, Fd: int32(fd)} }

// PrepPollAdd waits until one of the events (unix.POLLIN, …) holds on fd. The result is the events that hold. See
// poll(2).
func (s *SQE) PrepPollAdd(fd int, events uint32) {
	*s = SQE{Opcode: OpPollAdd, Fd: int32(fd), OpFlags: events}
}

// PrepPollMultishot reports events on fd, one completion each, until it is cancelled.
func (s *SQE) PrepPollMultishot(fd int, events uint32) {
	s.PrepPollAdd(fd, events)
	s.Len = PollAddMulti
}

// PrepCancel cancels the entry in flight whose user_data is target. The result is 0, or -ENOENT if there is no such
// entry, or -EALREADY if the entry can no longer be stopped and completes by itself. See io_uring_prep_cancel(3).
func (s *SQE) PrepCancel(target uint64) {
	*s = SQE{Opcode: OpAsyncCancel, Fd: -1, Addr: target}
}

// PrepWaitid waits until a child process changes its state, and stores what happened in info, a siginfo_t; info may be
// nil. The result is 0. See waitid(2).
func (s *SQE) PrepWaitid(idType, id, options int, info unsafe.Pointer) {
	*s = SQE{Opcode: OpWaitid, Fd: int32(id), Len: uint32(idType), FileIndex: int32(options), Off: addr(info)}
}
