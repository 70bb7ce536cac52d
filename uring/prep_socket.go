//go:build linux

package uring

import "unsafe"

// PrepAccept accepts one connection on fd. sockFlags are unix.SOCK_NONBLOCK and unix.SOCK_CLOEXEC. The result is the
// new descriptor. See accept4(2).
func (s *SQE) PrepAccept(fd int, sockFlags uint32) {
	*s = SQE{Opcode: OpAccept, Fd: int32(fd), OpFlags: sockFlags}
}

// PrepAcceptMultishot accepts connections, one completion each, until it fails or is cancelled.
func (s *SQE) PrepAcceptMultishot(fd int, sockFlags uint32) {
	s.PrepAccept(fd, sockFlags)
	s.Ioprio = AcceptMultishot
}

// PrepConnect connects fd to the address at sa, a raw sockaddr of n bytes. The result is 0. See connect(2).
func (s *SQE) PrepConnect(fd int, sa unsafe.Pointer, n uint32) {
	*s = SQE{Opcode: OpConnect, Fd: int32(fd), Addr: addr(sa), Off: uint64(n)}
}

// PrepRecv receives at most n bytes to p. The result is the number of bytes; 0 is EOF. See recv(2).
func (s *SQE) PrepRecv(fd int, p unsafe.Pointer, n uint32, msgFlags int) {
	*s = SQE{Opcode: OpRecv, Fd: int32(fd), Addr: addr(p), Len: n, OpFlags: uint32(msgFlags)}
}

// PrepRecvSelect receives into a provided buffer of the group, which the completion names. If n is 0, it receives as
// much as the buffer holds.
func (s *SQE) PrepRecvSelect(fd int, group uint16, n uint32, msgFlags int) {
	*s = SQE{
		Opcode: OpRecv, Flags: SQEBufferSelect, Fd: int32(fd), Len: n, OpFlags: uint32(msgFlags), BufIndex: group,
	}
}

// PrepRecvMultishot receives into provided buffers of the group, one completion each, until EOF, an error, -ENOBUFS or
// a cancel.
func (s *SQE) PrepRecvMultishot(fd int, group uint16, msgFlags int) {
	s.PrepRecvSelect(fd, group, 0, msgFlags)
	s.Ioprio = RecvMultishot
}

// LimitRecv ends a multishot receive with the completion that brings its total to n bytes or more; 0 is no limit. If
// [Caps].RecvLimit is false, the entry completes with -EINVAL.
func (s *SQE) LimitRecv(n uint32) { s.FileIndex = int32(n) }

// PrepRecvmsg receives into the memory that msg, a struct msghdr, describes. See recvmsg(2).
func (s *SQE) PrepRecvmsg(fd int, msg unsafe.Pointer, msgFlags int) {
	*s = SQE{Opcode: OpRecvmsg, Fd: int32(fd), Addr: addr(msg), Len: 1, OpFlags: uint32(msgFlags)}
}

// PrepRecvmsgMultishot receives messages into provided buffers of the group, one completion each, as
// [SQE.PrepRecvMultishot] does. Each buffer begins with a [RecvmsgOut]; msg, a struct msghdr, says how many bytes of
// the buffer follow it for the name and for the control data. See io_uring_prep_recvmsg_multishot(3).
func (s *SQE) PrepRecvmsgMultishot(fd int, group uint16, msg unsafe.Pointer, msgFlags int) {
	s.PrepRecvmsg(fd, msg, msgFlags)
	s.Flags, s.Ioprio, s.BufIndex = SQEBufferSelect, RecvMultishot, group
}

// RecvmsgOut is the beginning of a buffer of [SQE.PrepRecvmsgMultishot]: struct io_uring_recvmsg_out. It is followed by
// the name, the control data and the payload. The first two have the sizes that the msghdr of the entry asked for; the
// fields say how long each of the three is, which may be more than there was room for.
type RecvmsgOut struct {
	Namelen    uint32
	Controllen uint32
	Payloadlen uint32
	Flags      uint32 // unix.MSG_TRUNC, …
}

// PrepSend sends n bytes at p. The result is the number of bytes. See send(2).
func (s *SQE) PrepSend(fd int, p unsafe.Pointer, n uint32, msgFlags int) {
	*s = SQE{Opcode: OpSend, Fd: int32(fd), Addr: addr(p), Len: n, OpFlags: uint32(msgFlags)}
}

// To makes a [SQE.PrepSend] or a [SQE.PrepSendZC] send to the address at sa, a raw sockaddr of n bytes. See sendto(2).
func (s *SQE) To(sa unsafe.Pointer, n uint16) { s.Off, s.FileIndex = addr(sa), int32(n) }

// PrepSendmsg sends the message that msg, a struct msghdr, describes. See sendmsg(2).
func (s *SQE) PrepSendmsg(fd int, msg unsafe.Pointer, msgFlags int) {
	*s = SQE{Opcode: OpSendmsg, Fd: int32(fd), Addr: addr(msg), Len: 1, OpFlags: uint32(msgFlags)}
}

// PrepSendZC sends n bytes at p without copying them. It has two completions. The first has the result, and [CQEMore]
// if the second follows. The second has [CQENotif] and says that the memory may be used again. zcFlags is 0 or
// [SendZCReportUsage]. See io_uring_prep_send_zc(3).
func (s *SQE) PrepSendZC(fd int, p unsafe.Pointer, n uint32, msgFlags int, zcFlags uint16) {
	*s = SQE{Opcode: OpSendZC, Ioprio: zcFlags, Fd: int32(fd), Addr: addr(p), Len: n, OpFlags: uint32(msgFlags)}
}

// PrepSendmsgZC sends as [SQE.PrepSendmsg] does, with the completions of [SQE.PrepSendZC].
func (s *SQE) PrepSendmsgZC(fd int, msg unsafe.Pointer, msgFlags int, zcFlags uint16) {
	s.PrepSendmsg(fd, msg, msgFlags)
	s.Opcode, s.Ioprio = OpSendmsgZC, zcFlags
}
