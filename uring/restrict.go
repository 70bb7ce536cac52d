//go:build linux

package uring

import (
	"os"
	"unsafe"
)

// Restrictions name what a ring takes. The kernel refuses all else: such an entry completes with -EACCES, and so fails
// io_uring_register(2).
type Restrictions struct {
	// Ops are the opcodes that may be submitted. [OpPollAdd] is always one of them: by it [Ring.Wake] wakes the ring.
	Ops OpSet
	// Flags are those that an [SQE] may have: 0, or [SQEBufferSelect], without which there are no receive buffers.
	Flags uint8
}

// restriction is struct io_uring_restriction.
type restriction struct {
	kind  uint16
	value uint8 // an opcode, or flags
	_     uint8
	_     [3]uint32
}

// Kinds of restriction: enum io_uring_register_restriction_op.
const (
	restrictRegister = 0
	restrictOp       = 1
	restrictFlags    = 2 // that an entry may have
)

// Restrict restricts the ring for as long as it exists. It is called once, before [Ring.Enable]. From then on nothing
// can be registered but the ring itself with its thread, the number of its workers, receive buffers
// ([Ring.RegisterBuffers]) if the flags allow to use them, and fixed buffers ([Ring.RegisterFixedBuffers]) if the
// opcodes do. From then on [Caps].Ops has no other opcodes.
//
// If [Caps].Restrictions is false, it fails and the ring is as before. See io_uring_register_restrictions(3).
func (r *Ring) Restrict(to Restrictions) error {
	to.Ops.Add(OpPollAdd)
	list := []restriction{{kind: restrictFlags, value: to.Flags}}
	for _, call := range to.registers() {
		list = append(list, restriction{kind: restrictRegister, value: call})
	}
	var allowed OpSet
	for op := range to.Ops.All() {
		if r.caps.Ops.Has(op) { // for one that the kernel does not know it refuses all
			list = append(list, restriction{kind: restrictOp, value: uint8(op)})
			allowed.Add(op)
		}
	}
	if _, err := r.register(registerRestrictions, unsafe.Pointer(&list[0]), uintptr(len(list))); err != nil {
		return os.NewSyscallError("io_uring_register(RESTRICTIONS)", err)
	}
	r.caps.Ops, r.caps.Restricted = allowed, true
	if !allowed.Has(OpSend) {
		r.direct.state = directOff
	}
	return nil
}

// registers returns the opcodes of io_uring_register(2) that a ring uses once it is enabled.
func (to *Restrictions) registers() []uint8 {
	calls := []uint8{registerIOWQMaxWorkers, registerRingFds, unregisterRingFds}
	if to.Flags&SQEBufferSelect != 0 {
		calls = append(calls, registerPbufRing)
	}
	if to.Ops.Has(OpReadFixed) || to.Ops.Has(OpWriteFixed) {
		calls = append(calls, registerBuffers)
	}
	return calls
}
