//go:build linux

package uring

import (
	"iter"
	"strconv"
)

// Op is an opcode: the operation that a submission entry asks for. See io_uring_enter(2).
type Op uint8

// The opcodes that package reactor submits, with the kernel's numbers. The other rings interpret exactly these.
const (
	OpNop           Op = 0
	OpReadv         Op = 1
	OpWritev        Op = 2
	OpFsync         Op = 3
	OpReadFixed     Op = 4
	OpWriteFixed    Op = 5
	OpPollAdd       Op = 6
	OpSendmsg       Op = 9
	OpRecvmsg       Op = 10
	OpAccept        Op = 13
	OpAsyncCancel   Op = 14
	OpConnect       Op = 16
	OpFallocate     Op = 17
	OpOpenat        Op = 18
	OpClose         Op = 19
	OpStatx         Op = 21
	OpRead          Op = 22
	OpWrite         Op = 23
	OpSend          Op = 26
	OpRecv          Op = 27
	OpSplice        Op = 30
	OpTee           Op = 33
	OpRenameat      Op = 35
	OpUnlinkat      Op = 36
	OpMkdirat       Op = 37
	OpSymlinkat     Op = 38
	OpLinkat        Op = 39
	OpSendZC        Op = 47
	OpSendmsgZC     Op = 48
	OpReadMultishot Op = 49
	OpWaitid        Op = 50
	OpFtruncate     Op = 55
)

// String returns the opcode's name in the kernel's header without IORING_OP_, or its number for an opcode that this
// package does not use.
func (o Op) String() string {
	if int(o) < len(opNames) && opNames[o] != "" {
		return opNames[o]
	}
	return "opcode " + strconv.Itoa(int(o))
}

var opNames = [...]string{
	OpNop:           "NOP",
	OpReadv:         "READV",
	OpWritev:        "WRITEV",
	OpFsync:         "FSYNC",
	OpReadFixed:     "READ_FIXED",
	OpWriteFixed:    "WRITE_FIXED",
	OpPollAdd:       "POLL_ADD",
	OpSendmsg:       "SENDMSG",
	OpRecvmsg:       "RECVMSG",
	OpAccept:        "ACCEPT",
	OpAsyncCancel:   "ASYNC_CANCEL",
	OpConnect:       "CONNECT",
	OpFallocate:     "FALLOCATE",
	OpOpenat:        "OPENAT",
	OpClose:         "CLOSE",
	OpStatx:         "STATX",
	OpRead:          "READ",
	OpWrite:         "WRITE",
	OpSend:          "SEND",
	OpRecv:          "RECV",
	OpSplice:        "SPLICE",
	OpTee:           "TEE",
	OpRenameat:      "RENAMEAT",
	OpUnlinkat:      "UNLINKAT",
	OpMkdirat:       "MKDIRAT",
	OpSymlinkat:     "SYMLINKAT",
	OpLinkat:        "LINKAT",
	OpSendZC:        "SEND_ZC",
	OpSendmsgZC:     "SENDMSG_ZC",
	OpReadMultishot: "READ_MULTISHOT",
	OpWaitid:        "WAITID",
	OpFtruncate:     "FTRUNCATE",
}

// OpSet is a set of opcodes. The zero OpSet is empty.
type OpSet [4]uint64

// NewOpSet returns the set of the opcodes.
func NewOpSet(ops ...Op) (s OpSet) {
	for _, op := range ops {
		s.Add(op)
	}
	return s
}

// AllOps returns the set of the opcodes of this package: those that package reactor submits.
func AllOps() (s OpSet) {
	for op, name := range opNames {
		if name != "" {
			s.Add(Op(op))
		}
	}
	return s
}

// Add puts op into the set.
func (s *OpSet) Add(op Op) { s[op>>6] |= 1 << (op & 63) }

// Has reports whether op is in the set.
func (s *OpSet) Has(op Op) bool { return s[op>>6]&(1<<(op&63)) != 0 }

// All iterates over the opcodes of the set, from the lowest.
func (s OpSet) All() iter.Seq[Op] {
	return func(yield func(Op) bool) {
		for op := range 256 {
			if s.Has(Op(op)) && !yield(Op(op)) {
				return
			}
		}
	}
}

// Union returns the set of the opcodes that are in either set.
func (s OpSet) Union(other OpSet) OpSet {
	for i := range s {
		s[i] |= other[i]
	}
	return s
}

// Intersection returns the set of the opcodes that are in both sets.
func (s OpSet) Intersection(other OpSet) OpSet {
	for i := range s {
		s[i] &= other[i]
	}
	return s
}
