package uring

import "unsafe"

// PrepSocket creates a socket. kind takes SOCK_NONBLOCK and SOCK_CLOEXEC as well. The result is its
// descriptor. See socket(2).
func (s *SQE) PrepSocket(family, kind, protocol int) {
	*s = SQE{Opcode: OpSocket, Fd: int32(family), Off: uint64(kind), Len: uint32(protocol)}
}

// PrepBind gives fd the address at sa, a raw sockaddr of n bytes. See bind(2).
func (s *SQE) PrepBind(fd int, sa unsafe.Pointer, n uint32) {
	*s = SQE{Opcode: OpBind, Fd: int32(fd), Addr: addr(sa), Off: uint64(n)}
}

// PrepListen makes fd a listener. See listen(2).
func (s *SQE) PrepListen(fd, backlog int) {
	*s = SQE{Opcode: OpListen, Fd: int32(fd), Len: uint32(backlog)}
}

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

// To makes a PrepSend or a PrepSendZC send to the address at sa, a raw sockaddr of n bytes. See sendto(2).
func (s *SQE) To(sa unsafe.Pointer, n uint16) { s.Off, s.FileIndex = addr(sa), int32(n) }

// PrepSendSelect sends from a buffer of the group, which the completion names; at most n bytes, or with n of 0
// the whole buffer.
func (s *SQE) PrepSendSelect(fd int, group uint16, n uint32, msgFlags int) {
	*s = SQE{Opcode: OpSend, Flags: SQEBufferSelect, Fd: int32(fd), Len: n, OpFlags: uint32(msgFlags), BufIndex: group}
}

// PrepRecvmsgMultishot receives messages into buffers of the group, one completion each, as PrepRecvMultishot
// does. Each buffer begins with a RecvmsgOut; msg, a struct msghdr, says how much room is left for the name
// and the control data behind that. See io_uring_prep_recvmsg_multishot(3).
func (s *SQE) PrepRecvmsgMultishot(fd int, group uint16, msg unsafe.Pointer, msgFlags int) {
	s.PrepRecvmsg(fd, msg, msgFlags)
	s.Flags, s.Ioprio, s.BufIndex = SQEBufferSelect, RecvMultishot, group
}

// RecvmsgOut is what a buffer of a PrepRecvmsgMultishot begins with: struct io_uring_recvmsg_out. Behind it
// come msg_namelen bytes of name, msg_controllen of control data, as they were asked for, and the payload.
type RecvmsgOut struct {
	Namelen    uint32 // as it is, which may be more than there was room for
	Controllen uint32 // as it is
	Payloadlen uint32 // as it is
	Flags      uint32 // MSG_TRUNC, …
}

// PrepSendZC sends n bytes at p without copying them. There are two completions: the first has the result, and
// CQEMore if the second follows, with CQENotif, when the memory is free again. zcFlags: SendZCReportUsage. See
// io_uring_prep_send_zc(3).
func (s *SQE) PrepSendZC(fd int, p unsafe.Pointer, n uint32, msgFlags int, zcFlags uint16) {
	*s = SQE{Opcode: OpSendZC, Ioprio: zcFlags, Fd: int32(fd), Addr: addr(p), Len: n, OpFlags: uint32(msgFlags)}
}

// PrepSendZCFixed is PrepSendZC of memory that lies in the registered buffer index.
func (s *SQE) PrepSendZCFixed(fd int, p unsafe.Pointer, n uint32, msgFlags int, zcFlags, index uint16) {
	s.PrepSendZC(fd, p, n, msgFlags, zcFlags|RecvsendFixedBuf)
	s.BufIndex = index
}

// PrepSendmsgZC is PrepSendmsg with the completions of PrepSendZC.
func (s *SQE) PrepSendmsgZC(fd int, msg unsafe.Pointer, msgFlags int, zcFlags uint16) {
	s.PrepSendmsg(fd, msg, msgFlags)
	s.Opcode, s.Ioprio = OpSendmsgZC, zcFlags
}
