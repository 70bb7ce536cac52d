package uring

// Caps is what a ring can do, found by asking it and by trying it out.
type Caps struct {
	Ring     string // "io_uring" or "epoll"
	Ops      OpSet  // the opcodes it takes
	Setup    uint32 // IORING_SETUP_* flags in force (io_uring only)
	Features uint32 // IORING_FEAT_* bits (io_uring only)

	Buffers          bool // receive buffers can be provided (RegisterBuffers)
	AcceptMultishot  bool
	RecvMultishot    bool
	RecvLimit        bool // a multishot receive can be given a limit (SQE.LimitRecv)
	RecvmsgMultishot bool
	SendTo           bool // a send can be given an address (SQE.To)
	PollMultishot    bool
	CancelFdAny      bool // cancelling by descriptor and of everything
	MinWait          bool // a wait can be given a minimum, which many completions end (SetMinWait); else a sleep stands for it
}

// OpSet is a set of opcodes.
type OpSet [4]uint64

// Add puts op into the set.
func (s *OpSet) Add(op Op) { s[op>>6] |= 1 << (op & 63) }

// Has reports whether op is in the set.
func (s *OpSet) Has(op Op) bool { return s[op>>6]&(1<<(op&63)) != 0 }
