package uring

import "unsafe"

// What follows is submitted by no operation. Only internal/simring still refers to it; it goes when that does not.

//revive:disable:exported
const (
	OpPollRemove Op = 7
	OpFadvise    Op = 24
	OpShutdown   Op = 34
	OpMsgRing    Op = 40
	OpSocket     Op = 45
	OpBind       Op = 56
	OpListen     Op = 57
	OpPipe       Op = 62

	AcceptDontWait   uint16 = 1 << 1
	AcceptPollFirst  uint16 = 1 << 2
	RecvsendFixedBuf uint16 = 1 << 2

	PollUpdateEvents   uint32 = 1 << 1
	PollUpdateUserData uint32 = 1 << 2
	PollAddLevel       uint32 = 1 << 3

	CancelAll      uint32 = 1 << 0
	CancelFd       uint32 = 1 << 1
	CancelAny      uint32 = 1 << 2
	CancelFdFixed  uint32 = 1 << 3
	CancelUserData uint32 = 1 << 4
	CancelOp       uint32 = 1 << 5
)

func (s *SQE) PrepCancelFd(fd int, flags uint32) {
	*s = SQE{Opcode: OpAsyncCancel, Fd: int32(fd), OpFlags: flags | CancelFd}
}

func (s *SQE) PrepCancelAny() {
	*s = SQE{Opcode: OpAsyncCancel, Fd: -1, OpFlags: CancelAny | CancelAll}
}

func (s *SQE) PrepPollRemove(target uint64) { *s = SQE{Opcode: OpPollRemove, Fd: -1, Addr: target} }

func (s *SQE) PrepPollUpdate(target, userData uint64, events, flags uint32) {
	*s = SQE{Opcode: OpPollRemove, Fd: -1, Addr: target, Off: userData, Len: flags, OpFlags: events}
}

func (s *SQE) PrepMsgRing(ringFd int, res uint32, userData uint64, flags uint32) {
	*s = SQE{Opcode: OpMsgRing, Fd: int32(ringFd), Len: res, Off: userData, OpFlags: flags}
}

func (s *SQE) PrepFadvise(fd int, off uint64, n uint32, advice int) {
	*s = SQE{Opcode: OpFadvise, Fd: int32(fd), Off: off, Len: n, OpFlags: uint32(advice)}
}

func (s *SQE) PrepPipe(fds unsafe.Pointer, flags uint32) {
	*s = SQE{Opcode: OpPipe, Addr: addr(fds), OpFlags: flags}
}

func (s *SQE) PrepSocket(family, kind, protocol int) {
	*s = SQE{Opcode: OpSocket, Fd: int32(family), Off: uint64(kind), Len: uint32(protocol)}
}

func (s *SQE) PrepBind(fd int, sa unsafe.Pointer, n uint32) {
	*s = SQE{Opcode: OpBind, Fd: int32(fd), Addr: addr(sa), Off: uint64(n)}
}

func (s *SQE) PrepListen(fd, backlog int) {
	*s = SQE{Opcode: OpListen, Fd: int32(fd), Len: uint32(backlog)}
}

func (s *SQE) PrepShutdown(fd, how int) {
	*s = SQE{Opcode: OpShutdown, Fd: int32(fd), Len: uint32(how)}
}

func (s *SQE) PrepSendSelect(fd int, group uint16, n uint32, msgFlags int) {
	*s = SQE{Opcode: OpSend, Flags: SQEBufferSelect, Fd: int32(fd), Len: n, OpFlags: uint32(msgFlags), BufIndex: group}
}

func (s *SQE) PrepSendZCFixed(fd int, p unsafe.Pointer, n uint32, msgFlags int, zcFlags, index uint16) {
	s.PrepSendZC(fd, p, n, msgFlags, zcFlags|RecvsendFixedBuf)
	s.BufIndex = index
}
