//go:build linux

package uring

// Caps describes what a ring can do. A ring finds it by asking the kernel and by trying operations, see [Probe].
type Caps struct {
	Ring     string // the kind of ring: "io_uring" or "epoll"
	Ops      OpSet  // the opcodes that it takes
	Setup    uint32 // IORING_SETUP_* flags in force (io_uring only)
	Features uint32 // IORING_FEAT_* bits (io_uring only)

	Buffers          bool // receive buffers can be provided ([Ring.RegisterBuffers])
	AcceptMultishot  bool
	RecvMultishot    bool
	RecvLimit        bool // a multishot receive can be given a limit ([SQE.LimitRecv])
	RecvmsgMultishot bool
	SendTo           bool // a send can be given an address ([SQE.To])
	PollMultishot    bool
	Restrictions     bool // the ring can be restricted ([Ring.Restrict])
	Restricted       bool // it is
	MinWait          bool // the kernel has the minimum wait of [Ring.SetMinWait]; otherwise a sleep replaces it
}
