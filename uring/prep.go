package uring

import "unsafe"

// The encoders below mirror liburing's io_uring_prep_*(3). Each overwrites the entry whole, and sets
// no user_data. Pointers are stored as addresses: see the package comment on memory.

func addr(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }

// PrepNop asks for nothing: it completes with 0.
func (s *SQE) PrepNop() { *s = SQE{Opcode: OpNop, Fd: -1} }

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

// PrepPollRemove ends the poll whose user_data is target. The result is 0, or -ENOENT if there is none, or
// -EALREADY if it is completing.
func (s *SQE) PrepPollRemove(target uint64) {
	*s = SQE{Opcode: OpPollRemove, Fd: -1, Addr: target}
}

// PrepPollUpdate changes the poll whose user_data is target: with PollUpdateEvents what it waits for, with
// PollUpdateUserData its user_data. See io_uring_prep_poll_update(3).
func (s *SQE) PrepPollUpdate(target, userData uint64, events, flags uint32) {
	*s = SQE{Opcode: OpPollRemove, Fd: -1, Addr: target, Off: userData, Len: flags, OpFlags: events}
}

// PrepMsgRing makes a completion with the user_data and res on the ring of descriptor ringFd. The result here
// is 0. See io_uring_prep_msg_ring(3).
func (s *SQE) PrepMsgRing(ringFd int, res uint32, userData uint64, flags uint32) {
	*s = SQE{Opcode: OpMsgRing, Fd: int32(ringFd), Len: res, Off: userData, OpFlags: flags}
}

// PrepWaitid waits for a change of state of a child, of which info, a siginfo_t or nil, is told. The result
// is 0. See waitid(2).
func (s *SQE) PrepWaitid(idType, id, options int, info unsafe.Pointer) {
	*s = SQE{Opcode: OpWaitid, Fd: int32(id), Len: uint32(idType), FileIndex: int32(options), Off: addr(info)}
}
