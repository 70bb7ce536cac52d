//go:build linux

package uring

// SQEBufferSelect is the flag of [SQE].Flags that makes the ring take a provided buffer of the group BufIndex.
const SQEBufferSelect uint8 = 1 << 5

// Flags of CQE.Flags. The upper 16 bits are a buffer id if CQEBuffer is set: see [CQE.BufferID].
const (
	CQEBuffer       uint32 = 1 << 0 // the completion names a provided buffer
	CQEMore         uint32 = 1 << 1 // further completions of this entry will follow
	CQESockNonempty uint32 = 1 << 2 // the socket still had data after this receive
	CQENotif        uint32 = 1 << 3 // a notification: a zero-copy send no longer uses its memory
)

// CQEBufferShift is the position of the buffer id in CQE.Flags.
const CQEBufferShift = 16

// AcceptMultishot is the flag of SQE.Ioprio that makes an OpAccept accept connections until it is cancelled.
const AcceptMultishot uint16 = 1 << 0

// Flags of SQE.Ioprio for the opcodes that receive and send.
const (
	RecvsendPollFirst uint16 = 1 << 0 // wait for readiness before the first attempt
	RecvMultishot     uint16 = 1 << 1 // one completion for each receive
	SendZCReportUsage uint16 = 1 << 3 // the notification says whether data was copied
)

// PollAddMulti is the flag of SQE.Len that makes an OpPollAdd report events until it is cancelled.
const PollAddMulti uint32 = 1 << 0

// SQE is a submission entry in the kernel's layout: 64 bytes. Its Prep methods overwrite it whole, so that nothing of
// an earlier use is left in it.
//
// See struct io_uring_sqe in io_uring_enter(2).
type SQE struct {
	Opcode      Op
	Flags       uint8
	Ioprio      uint16
	Fd          int32
	Off         uint64 // offset, second address, or the address length of a connect
	Addr        uint64 // buffer, iovec, sockaddr; the target's user_data of a cancel
	Len         uint32 // bytes, iovecs, or poll flags
	OpFlags     uint32 // msg_flags, accept_flags, poll32_events, …
	UserData    uint64
	BufIndex    uint16 // buffer group, or index of a registered buffer
	Personality uint16
	FileIndex   int32 // splice_fd_in, addr_len, or the limit of a multishot receive
	Addr3       uint64
	_           uint64
}

// CQE is a completion in the kernel's layout: 16 bytes.
type CQE struct {
	UserData uint64
	Res      int32 // ≥ 0: the result; < 0: a negated errno
	Flags    uint32
}

// More reports whether further completions of the same entry will follow.
func (c *CQE) More() bool { return c.Flags&CQEMore != 0 }

// BufferID returns the id of the provided buffer that the completion names; ok is false if it names none.
func (c *CQE) BufferID() (id uint16, ok bool) {
	return uint16(c.Flags >> CQEBufferShift), c.Flags&CQEBuffer != 0
}
