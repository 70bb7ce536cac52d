//go:build linux

package uring

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Opcodes of io_uring_register(2).
const (
	registerBuffers        = 0
	registerProbe          = 8
	registerRestrictions   = 11
	registerEnableRings    = 12
	registerIOWQMaxWorkers = 19
	registerRingFds        = 20
	unregisterRingFds      = 21
	registerPbufRing       = 22
)

// register calls io_uring_register(2).
func (r *Ring) register(op uintptr, arg unsafe.Pointer, n uintptr) (int, error) {
	res, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), op, uintptr(arg), n, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(res), nil
}

// rsrcUpdate is struct io_uring_rsrc_update.
type rsrcUpdate struct {
	offset uint32
	_      uint32
	data   uint64
}

// registerRingFd puts the ring into the thread's table of rings, which saves a reference count on its file at every
// io_uring_enter(2).
func (r *Ring) registerRingFd() (index uint32, err error) {
	up := rsrcUpdate{offset: ^uint32(0), data: uint64(r.fd)}
	if _, err := r.register(registerRingFds, unsafe.Pointer(&up), 1); err != nil {
		return 0, err
	}
	return up.offset, nil
}

// unregisterRingFd frees the slot of the thread's table, which has sixteen.
func (r *Ring) unregisterRingFd() {
	if r.enterFlags&enterRegisteredRing == 0 {
		return
	}
	up := rsrcUpdate{offset: uint32(r.enterFd)}
	_, _ = r.register(unregisterRingFds, unsafe.Pointer(&up), 1)
	r.enterFd, r.enterFlags = uintptr(r.fd), r.enterFlags&^enterRegisteredRing
}
