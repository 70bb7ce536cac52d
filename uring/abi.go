package uring

// Op is an opcode: what a submission entry asks for. See io_uring_enter(2).
type Op uint8

// The opcodes of Linux 6.18, in the kernel's order.
const (
	OpNop Op = iota
	OpReadv
	OpWritev
	OpFsync
	OpReadFixed
	OpWriteFixed
	OpPollAdd
	OpPollRemove
	OpSyncFileRange
	OpSendmsg
	OpRecvmsg
	OpTimeout
	OpTimeoutRemove
	OpAccept
	OpAsyncCancel
	OpLinkTimeout
	OpConnect
	OpFallocate
	OpOpenat
	OpClose
	OpFilesUpdate
	OpStatx
	OpRead
	OpWrite
	OpFadvise
	OpMadvise
	OpSend
	OpRecv
	OpOpenat2
	OpEpollCtl
	OpSplice
	OpProvideBuffers
	OpRemoveBuffers
	OpTee
	OpShutdown
	OpRenameat
	OpUnlinkat
	OpMkdirat
	OpSymlinkat
	OpLinkat
	OpMsgRing
	OpFsetxattr
	OpSetxattr
	OpFgetxattr
	OpGetxattr
	OpSocket
	OpUringCmd
	OpSendZC
	OpSendmsgZC
	OpReadMultishot
	OpWaitid
	OpFutexWait
	OpFutexWake
	OpFutexWaitv
	OpFixedFdInstall
	OpFtruncate
	OpBind
	OpListen
	OpRecvZC
	OpEpollWait
	OpReadvFixed
	OpWritevFixed
	OpPipe
	opLast
)

// Flags of SQE.Flags.
const (
	SQEFixedFile      uint8 = 1 << iota // Fd indexes the registered files
	SQEIODrain                          // start after everything queued before
	SQEIOLink                           // start the next entry when this one is done
	SQEIOHardlink                       // the same, whatever the result
	SQEAsync                            // go to a worker thread at once
	SQEBufferSelect                     // take a buffer from group BufIndex
	SQECQESkipSuccess                   // post no completion on success
)

// Flags of CQE.Flags. The upper 16 bits are a buffer id when CQEBuffer is set.
const (
	CQEBuffer       uint32 = 1 << iota // a buffer was taken; BufferID names it
	CQEMore                            // further completions of this entry will follow
	CQESockNonempty                    // the socket still had data after this receive
	CQENotif                           // a zero-copy send let go of its buffer
	CQEBufMore                         // the buffer is used further by later completions
)

// CQEBufferShift is where the buffer id starts in CQE.Flags.
const CQEBufferShift = 16

// Flags of SQE.Ioprio for OpAccept.
const (
	AcceptMultishot uint16 = 1 << iota
	AcceptDontWait
	AcceptPollFirst
)

// Flags of SQE.Ioprio for OpRecv, OpRecvmsg, OpSend and OpSendmsg.
const (
	RecvsendPollFirst uint16 = 1 << iota // wait for readiness before the first try
	RecvMultishot
	RecvsendFixedBuf
	SendZCReportUsage
	RecvsendBundle
	SendVectorized
)

// Flags of SQE.Len for OpPollAdd.
const (
	PollAddMulti uint32 = 1 << iota
	PollUpdateEvents
	PollUpdateUserData
	PollAddLevel
)

// Flags of SQE.OpFlags for OpAsyncCancel. See io_uring_prep_cancel(3).
const (
	CancelAll      uint32 = 1 << iota // every match, not only the first; the result is their count
	CancelFd                          // match by Fd instead of by user_data
	CancelAny                         // match everything
	CancelFdFixed                     // Fd is a registered file
	CancelUserData                    // match by user_data as well
	CancelOp                          // match by opcode (SQE.Len)
)

// SQE is a submission entry in the kernel's layout: 64 bytes. The Prep methods fill it; they always
// overwrite it whole, so that nothing of an earlier use is left.
//
// See struct io_uring_sqe in io_uring_enter(2).
type SQE struct {
	Opcode      Op
	Flags       uint8
	Ioprio      uint16
	Fd          int32
	Off         uint64 // offset, addr2, or the address length of a connect
	Addr        uint64 // buffer, iovec, sockaddr; the target's user_data of a cancel
	Len         uint32 // bytes, iovecs, or poll flags
	OpFlags     uint32 // msg_flags, accept_flags, poll32_events, cancel_flags, rw_flags, …
	UserData    uint64
	BufIndex    uint16 // buffer group, or index of a registered buffer
	Personality uint16
	FileIndex   int32 // splice_fd_in, file_index, addr_len
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

// BufferID names the provided buffer that the completion carries; ok is false if it carries none.
func (c *CQE) BufferID() (id uint16, ok bool) {
	return uint16(c.Flags >> CQEBufferShift), c.Flags&CQEBuffer != 0
}
